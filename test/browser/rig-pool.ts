import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startNodeRed, type NodeRed } from '../../scripts/demo/node-red.mjs';
import { node24 } from '../../scripts/node24.mjs';
import { trialPackage } from './trial';

declare module 'vitest' {
  export interface ProvidedContext {
    rigPool: string;
  }
}

/** A Node-RED with the trial package. */
export interface PooledNodeRed {
  readonly url: string;
  readonly userDir: string;
  /** The trial package. */
  readonly folder: string;
}

/** Both lines of Node-RED, each with the Node.js that it runs on. */
export const lines: { version: 4 | 5; node: () => string }[] = [
  { version: 4, node: () => process.execPath },
  { version: 5, node: node24 },
];

/**
 * For vitest's `globalSetup`: test files borrow a running Node-RED over HTTP, because a start takes longer than most of these files.
 * A file deploys flows of its own, so nothing of the file before stays. `POST /take/5` lends one, `POST /return/5` takes it back.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const work = mkdtempSync(join(tmpdir(), 'gateway-rigs-'));
  const idle = new Map<string, PooledNodeRed[]>(lines.map(({ version }) => [String(version), []]));
  const started: NodeRed[] = [];
  let trial: Promise<string> | undefined;

  async function take(version: string): Promise<PooledNodeRed> {
    const used = idle.get(version)?.pop();
    const line = lines.find((one) => String(one.version) === version);
    if (used || !line) return used ?? Promise.reject(new Error(`There is no Node-RED ${version}.`));
    const folder = await (trial ??= trialPackage(join(work, 'package')));
    const userDir = mkdtempSync(join(work, 'user-'));
    const nodeRed = await startNodeRed({ userDir, version: line.version, node: line.node(), nodesDir: [folder], flows: [] });
    started.push(nodeRed);
    return { url: nodeRed.url, userDir, folder };
  }

  const server = createServer((request, response) => {
    const [, action, version = ''] = request.url?.split('/') ?? [];
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      if (action === 'return') {
        idle.get(version)?.push(JSON.parse(body) as PooledNodeRed);
        response.end('{}');
      } else
        take(version).then(
          (nodeRed) => response.end(JSON.stringify(nodeRed)),
          (error: unknown) => response.writeHead(500).end(String(error)),
        );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  project.provide('rigPool', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    server.close();
    await Promise.all(started.map((nodeRed) => nodeRed.stop()));
    rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  };
}
