import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject } from 'vitest';
import type { Area, Field } from '../../src/model/operation';
import { chromiumPath, Editor, type Entry, type FlowNode } from './editor';
import { lines, type PooledNodeRed } from './rig-pool';

export const skipped = chromiumPath() === undefined;
if (skipped && process.env.CI) throw new Error('There is no Chromium: set CHROMIUM_PATH.');
if (skipped) console.warn('There is no Chromium on this machine (CHROMIUM_PATH, /usr/bin/chromium): the dialogs are not tested.');

const APPLIANCE = {
  id: 'ap1',
  type: 'gateway-appliance',
  name: 'vpn-1',
  url: 'https://vpn.example.com',
  login: 'realm',
  realm: 'Admin Users',
};
const common = {
  z: 'f1',
  name: '',
  appliance: 'ap1',
  applianceFrom: '',
  output: 'payload',
  failures: 'catch',
  dryRun: false,
  allowDestroy: false,
  approval: false,
  approvalMinutes: 60,
};
/** A node of the trial area without an id. */
export const TRIAL = {
  ...common,
  type: 'gateway-trial',
  operation: 'create',
  operationType: 'op',
  fields: {},
  outputs: 1,
  x: 200,
  y: 160,
  wires: [['end']],
};

/** A value of the dialog's own that fits the field. */
function literal(field: Field): Entry {
  if (field.secret) return { type: 'msg', value: 'token' };
  if (field.rule) return { type: 'str', value: String(field.example) };
  if (field.editor === 'session-filter') return { type: 'json', value: JSON.stringify(field.example) };
  switch (field.kind) {
    case 'number':
    case 'amount':
      return { type: 'num', value: '7' };
    case 'boolean':
      return { type: 'bool', value: 'false' };
    case 'choice':
      return { type: 'str', value: field.choices?.at(-1) ?? '' };
    case 'object':
      return { type: 'json', value: '{"a":1}' };
    case 'list':
    case 'records':
    case 'names':
      return { type: 'json', value: '["a","b"]' };
    case 'text':
    case 'path':
    case 'data':
    case 'content':
      return { type: 'str', value: 'a b' };
  }
}

export const idOf = (area: Area, operation: string): string => `${area.name}-${operation}`;

function nodeFor(area: Area, operation: string): FlowNode {
  const declared = Object.entries(area.operations[operation]?.fields ?? {});
  const fields = Object.fromEntries(declared.map(([name, field]) => [name, literal(field)]));
  // What has events of its own has an output for them.
  const ports = area.events ? { outputs: 2, wires: [['end'], []] } : {};
  return { ...TRIAL, id: idOf(area, operation), type: `gateway-${area.name}`, operation, fields, y: 80, ...ports };
}

async function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
  const response = await fetch(url, init);
  if (!response.ok) throw new Error(`${url} gave ${response.status}: ${await response.text()}`);
  return response;
}

/** A Node-RED with one node for each operation of the package and of the trial area, and a browser with its editor. */
export class Rig {
  areas: readonly Area[] = [];
  editor!: Editor;
  #nodeRed: PooledNodeRed | undefined;

  constructor(readonly version: 4 | 5) {}

  async start(): Promise<void> {
    const nodeRed = (await (await post(`${inject('rigPool')}/take/${this.version}`, {})).json()) as PooledNodeRed;
    this.#nodeRed = nodeRed;
    this.areas = (createRequire(__filename)(join(nodeRed.folder, 'dist', 'src', 'areas', 'index.js')) as { areas: Area[] }).areas;
    const credentials = { tr2: { password: 'planted-1' }, ap1: { username: 'admin', password: 'planted-2' } };
    await post(`${nodeRed.url}/flows`, { flows: this.#flows(), credentials }, { 'Node-RED-API-Version': 'v2' });
    this.editor = await Editor.open(nodeRed.url, 'tr1');
  }

  #flows(): unknown[] {
    return [
      { id: 'f1', type: 'tab', label: 'Flow' },
      APPLIANCE,
      { ...APPLIANCE, id: 'ap2', name: 'vpn-2' },
      // For the simulator, whose certificate nobody knows.
      { id: 'tls1', type: 'tls-config', name: 'lab', cert: '', key: '', ca: '', verifyservercert: false },
      { id: 'f2', type: 'tab', label: 'Second' },
      { id: 'stamp', type: 'inject', z: 'f1', name: '', props: [{ p: 'payload' }], payloadType: 'date', x: 60, y: 300, wires: [[]] },
      { id: 'start', type: 'link in', z: 'f1', name: '', links: [], x: 60, y: 80, wires: [['sessions-list', 'tr1']] },
      { id: 'end', type: 'debug', z: 'f1', name: '', x: 460, y: 80, wires: [] },
      ...this.operations().map(([area, name]) => nodeFor(area, name)),
      { ...TRIAL, id: 'tr1' },
      { ...TRIAL, id: 'tr2', fields: { password: { type: 'cred', value: '' }, server: { type: 'str', value: 'Local' } } },
      {
        ...TRIAL,
        id: 'tr3',
        operation: 'payload.operation',
        operationType: 'msg',
        appliance: '',
        applianceFrom: 'msg',
        allowDestroy: true,
      },
    ];
  }

  /** Every operation, or those of one area. */
  operations(of?: string): [Area, string, Record<string, Field>][] {
    const wanted = this.areas.filter(({ name }) => of === undefined || name === of);
    return wanted.flatMap((area) =>
      Object.entries(area.operations).map(([name, { fields }]): [Area, string, Record<string, Field>] => [area, name, fields]),
    );
  }

  /** What Node-RED has written to disk. */
  read(file: 'flows.json' | 'flows_cred.json'): unknown {
    return JSON.parse(readFileSync(join(this.#nodeRed?.userDir ?? '', file), 'utf8'));
  }

  async stop(): Promise<void> {
    await this.editor?.close();
    if (this.#nodeRed) await post(`${inject('rigPool')}/return/${this.version}`, this.#nodeRed);
  }
}

/** Runs the tests in both lines of Node-RED; a dialog that throws fails the test that opened it. */
export function inBothEditors(what: string, tests: (rig: Rig) => void): void {
  describe.skipIf(skipped).each(lines)(`${what} in Node-RED $version`, ({ version }) => {
    const rig = new Rig(version);
    beforeAll(() => rig.start());
    afterAll(() => rig.stop());
    afterEach(async ({ task }) => {
      if (task.result?.state === 'fail') await rig.editor.leave();
      expect(rig.editor.complaints.splice(0)).toEqual([]);
    });
    tests(rig);
  });
}
