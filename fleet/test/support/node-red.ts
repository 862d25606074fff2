import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNodeRed, type NodeRed } from '../../../scripts/demo/node-red.mjs';
import type { SimulatedFleet } from '../../../src/simulator';
import { postToFlow, createLogToFileSettings } from '../../../test/helpers/log-to-file';
import type { FleetReport } from '../../engine';
import { ADMIN_LOGIN } from './test-fleet';

export type FlowNode = Record<string, unknown> & { readonly id: string };

interface LoggedMessage {
  readonly what: string;
  readonly run?: string;
  readonly payload?: unknown;
  readonly error?: { readonly code: string; readonly message: string };
  readonly envelope?: Record<string, unknown>;
  readonly status?: { readonly text: string };
  readonly redelivered?: boolean;
}

const root = join(__dirname, '..', '..', '..');

/** A real Node-RED with a run node that POST /start triggers, and a control node behind POST /control. */
export class FleetNodeRed {
  readonly folder = mkdtempSync(join(tmpdir(), 'fleet-red-'));
  readonly #logFile = join(this.folder, 'told.jsonl');
  readonly #flows: readonly FlowNode[];
  readonly #credentials: Record<string, Record<string, string>>;
  readonly #lang: string;
  readonly #version: 4 | 5;
  #running: NodeRed | undefined;

  /** An empty `url` selects the embedded database. `moreNodes` may have credentials. */
  constructor(
    url: string,
    fleet: SimulatedFleet,
    runProperties: Record<string, unknown>,
    moreNodes: readonly FlowNode[] = [],
    lang = 'en-US',
    version: 4 | 5 = 5,
  ) {
    this.#credentials = Object.fromEntries([
      ['inv', ADMIN_LOGIN],
      ...(url === '' ? [] : [['eng', { url }]]),
      ...moreNodes.flatMap(({ id, credentials }) => (credentials === undefined ? [] : [[id, credentials]])),
    ]) as Record<string, Record<string, string>>;
    this.#lang = lang;
    this.#version = version;
    const ca = join(this.folder, 'ca.pem');
    writeFileSync(ca, fleet.ca);
    writeFileSync(this.#logFile, '');
    const createLogNode = (id: string, what: string): FlowNode => ({
      id,
      type: 'function',
      func: `global.get('tell')({ what: '${what}', run: msg.run, payload: msg.payload, error: msg.error, envelope: msg.envelope, status: msg.status, redelivered: msg.redelivered }); return msg;`,
      outputs: 1,
      wires: [[]],
    });
    const nodes: FlowNode[] = [
      { id: 'n-start', type: 'http in', url: '/start', method: 'post', wires: [['n-read', 'n-thanks']] },
      {
        id: 'n-read',
        type: 'function',
        func: 'return { run: msg.payload.run, payload: msg.payload.payload };',
        outputs: 1,
        wires: [['n-run']],
      },
      { id: 'n-thanks', type: 'http response', statusCode: '', wires: [] },
      {
        id: 'n-run',
        type: 'gateway-fleet-run',
        name: 'the run',
        engine: 'eng',
        select: '*',
        wires: [['told-report'], ['told-progress']],
        ...runProperties,
      },
      createLogNode('told-report', 'report'),
      createLogNode('told-progress', 'progress'),
      { id: 'n-caught', type: 'catch', scope: null, uncaught: false, wires: [['told-error', 'n-answer']] },
      createLogNode('told-error', 'error'),
      { id: 'n-status', type: 'status', scope: ['n-run'], wires: [['told-status']] },
      createLogNode('told-status', 'status'),
      { id: 'n-ask', type: 'http in', url: '/control', method: 'post', wires: [['n-asked']] },
      { id: 'n-asked', type: 'function', func: 'Object.assign(msg, msg.payload); return msg;', outputs: 1, wires: [['n-control']] },
      { id: 'n-control', type: 'gateway-fleet-control', engine: 'eng', operation: 'msg', wires: [['n-answer']] },
      {
        id: 'n-answer',
        type: 'function',
        func: 'if (!msg.res) return; if (msg.error) { msg.payload = msg.error; msg.statusCode = 500; } return msg;',
        outputs: 1,
        wires: [['n-say']],
      },
      { id: 'n-say', type: 'http response', statusCode: '', wires: [] },
      ...moreNodes.map((node) => ({ ...node, credentials: undefined })),
    ];
    this.#flows = [
      { id: 'f1', type: 'tab', label: 'Fleet' },
      { id: 'tls1', type: 'tls-config', ca, cert: '', key: '', verifyservercert: true },
      {
        id: 'inv',
        type: 'gateway-inventory',
        source: 'list',
        list: JSON.stringify(fleet.entries),
        defaults: '{"realm": "Admin Users", "transferTimeout": 20}',
        tls: 'tls1',
        secrets: 'node',
      },
      { id: 'eng', type: 'gateway-fleet-engine', inventory: 'inv' },
      ...nodes.map((node) => ({ z: 'f1', ...node })),
    ];
  }

  async start(): Promise<void> {
    this.#running = await startNodeRed({
      userDir: join(this.folder, 'user'),
      version: this.#version,
      nodesDir: [root, join(root, 'fleet')],
      flows: [...this.#flows],
      credentials: this.#credentials,
      settings: { lang: this.#lang },
      settingsCode: createLogToFileSettings(this.#logFile),
    });
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Kills the process with SIGKILL. */
  async kill(): Promise<void> {
    this.#running?.child.kill('SIGKILL');
    await this.#running?.exited;
    this.#running = undefined;
  }

  /** Stops the process where it is, until `resume` or `kill`. */
  suspend(): void {
    this.#running?.child.kill('SIGSTOP');
  }

  resume(): void {
    this.#running?.child.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    await this.#running?.stop();
  }

  output(): string {
    return this.#running?.output() ?? '';
  }

  post(path: string, body: unknown): Promise<unknown> {
    return postToFlow(this.#running, path, body);
  }

  startRun(run: string, payload: unknown = {}): Promise<unknown> {
    return this.post('/start', { run, payload });
  }

  /** Logged messages, also from before a restart. */
  readLog(what: string): LoggedMessage[] {
    return readFileSync(this.#logFile, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LoggedMessage)
      .filter((one) => one.what === what);
  }

  readReports(run: string): FleetReport[] {
    return this.readLog('report').flatMap((one) => (one.run === run ? [one.payload as FleetReport] : []));
  }

  async close(): Promise<void> {
    await this.stop();
    if (existsSync(this.folder)) rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
