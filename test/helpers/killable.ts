import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { startNodeRed, type NodeRed } from '../../scripts/demo/node-red.mjs';
import type { Simulator } from '../../src/simulator';
import { simulatorCertificate } from './simulated-appliance';
import { postToFlow, createLogToFileSettings } from './log-to-file';

type FlowNode = Record<string, unknown> & { readonly id: string };

/** A real Node-RED whose flows go on where they were after it was killed: the same folders, the same flows. */
export class KillableNodeRed {
  readonly folder = mkdtempSync(join(tmpdir(), 'gateway-killed-'));
  /** What the function `tell` of Function nodes is given, a line each, written before it returns. */
  readonly logFile = join(this.folder, 'told.jsonl');
  readonly #flows: readonly FlowNode[];
  #running: NodeRed | undefined;

  /** `nodes` of the tab `f1`, whose appliance is `a1`. */
  constructor(simulator: Simulator, nodes: (folder: string) => readonly FlowNode[]) {
    const ca = join(this.folder, 'ca.pem');
    writeFileSync(ca, simulatorCertificate.cert);
    writeFileSync(this.logFile, '');
    this.#flows = [
      { id: 'f1', type: 'tab', label: 'Killed' },
      { id: 'tls1', type: 'tls-config', ca, cert: '', key: '', verifyservercert: true },
      { id: 'a1', type: 'gateway-appliance', name: 'vpn-1', url: simulator.url, login: 'realm', realm: 'Admin Users', tls: 'tls1' },
      ...nodes(this.folder).map((node) => ({ z: 'f1', ...node })),
    ];
    onTestFinished(async () => {
      await this.#running?.stop();
      rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    });
  }

  async start(): Promise<void> {
    this.#running = await startNodeRed({
      userDir: join(this.folder, 'user'),
      version: 4,
      flows: [...this.#flows],
      credentials: { a1: { username: 'api-admin', password: 'simulator' } },
      settingsCode: createLogToFileSettings(this.logFile),
    });
  }

  /** Sends SIGKILL. */
  async kill(): Promise<void> {
    this.#running?.child.kill('SIGKILL');
    await this.#running?.exited;
  }

  /** Calls the `http in` of this path. Rejects if Node-RED is killed meanwhile. */
  post(path: string, body: unknown = {}): Promise<unknown> {
    return postToFlow(this.#running, path, body);
  }
}

/** An `http in`, and the node that answers with the payload. */
export const createHttpEndpoint = (path: string, to: string): readonly FlowNode[] => [
  { id: `in-${path.slice(1)}`, type: 'http in', url: path, method: 'post', wires: [[to]] },
  { id: 'answer', type: 'http response', statusCode: '', wires: [] },
  { id: 'caught', type: 'catch', scope: null, uncaught: false, wires: [['why']] },
  { id: 'why', type: 'function', func: 'msg.payload = msg.error; msg.statusCode = 500; return msg;', outputs: 1, wires: [['answer']] },
];
