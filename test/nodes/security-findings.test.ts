import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeAPI } from 'node-red';
import { describe, expect, it } from 'vitest';
import { createDiagnosticsOptions, setNodeRedRuntime } from '../../nodes/diagnostics/observe';
import { findUnguardedFlows, findInsecureSettings } from '../../nodes/diagnostics/security-findings';

type Definition = Record<string, unknown> & { id: string; type: string };

const redOf = (nodes: Definition[], settings = {}): NodeAPI =>
  ({ settings, nodes: { eachNode: (visit: (node: Definition) => void) => nodes.forEach(visit) } }) as unknown as NodeAPI;
const codesOf = (nodes: Definition[], settings = {}): string[] => findUnguardedFlows(redOf(nodes, settings), 'a1').map(({ code }) => code);

const hook = { id: 'hook', type: 'http in', url: '/planted', name: 'planted', wires: [['kill']] };
const kill = { id: 'kill', type: 'gateway-sessions', name: 'planted', appliance: 'a1', operation: 'kill-user', wires: [[]] };
const through = (type: string): Definition[] => [{ ...hook, wires: [['m']] }, { id: 'm', type, wires: [['kill', 'm']] }, kill];

describe('a flow that listens on the network', () => {
  it.each<[string, string[], Definition[]]>([
    ['and leads straight to an end', ['listens-without-secret'], [hook, kill]],
    ['and leads to what only reads', ['reads-without-secret'], [hook, { ...kill, operation: 'list' }]],
    ['and leads to what the message chooses', ['listens-without-secret'], [hook, { ...kill, operation: 'list', operationType: 'msg' }]],
    ['and leads to another appliance', [], [hook, { ...kill, appliance: 'a2' }]],
    [
      'and leads to the appliance that a message names',
      ['listens-without-secret'],
      [hook, { ...kill, appliance: '', applianceFrom: 'msg' }],
    ],
    ['and leads through a change', ['listens-without-secret'], through('change')],
    ['and leads through a switch', [], through('switch')],
    ['and leads through a function', [], through('function')],
    ['and leads through what nobody knows', [], through('basic-auth')],
    [
      'and leads through links',
      ['listens-without-secret'],
      [
        { ...hook, wires: [['lo']] },
        { id: 'lo', type: 'link out', links: ['li'] },
        { id: 'li', type: 'link in', links: ['lo'], wires: [['kill']] },
        kill,
      ],
    ],
    ['by a socket that it opens itself', [], [{ id: 't', type: 'tcp in', server: 'client', wires: [['kill']] }, kill]],
    ['by one that others open', ['listens-without-secret'], [{ id: 't', type: 'tcp in', server: 'server', wires: [['kill']] }, kill]],
    ['by a websocket of its own', ['listens-without-secret'], [{ id: 't', type: 'websocket in', server: 'w', wires: [['kill']] }, kill]],
    ['and leads nowhere', [], [{ ...hook, wires: [[]] }, kill]],
    ['but is switched off', [], [{ ...hook, d: true }, kill]],
    ['and leads to what is switched off', [], [hook, { ...kill, d: true }]],
    ['and is odd', [], [{ id: 'hook', type: 'http in', wires: 'kill' }, { id: 'x', type: 'http in', wires: [[5, null]] }, kill]],
  ])('a flow that listens on the network %s has the findings %j', (_how, codes, nodes) => {
    expect(codesOf(nodes)).toEqual(codes);
  });

  it('a support bundle has no finding about a flow that listens on the network if Node-RED requires authentication', () => {
    for (const settings of [{ httpNodeAuth: { user: 'a', pass: 'b' } }, { httpNodeMiddleware: () => undefined }]) {
      expect(codesOf([hook, kill], settings)).toEqual([]);
      expect(codesOf([{ ...hook, type: 'udp in' }, kill], settings)).toEqual(['listens-without-secret']);
    }
  });

  it('a flow that listens on the network is reported with node ids, but without names and addresses', () => {
    const [{ text = '' } = {}] = findUnguardedFlows(redOf([hook, kill]), 'a1');
    expect(text).toContain('(hook)');
    expect(text).toContain('(kill)');
    expect(text).not.toContain('planted');
  });

  it('a flow that listens on the network is reported at most twenty times', () => {
    const many = Array.from({ length: 50 }, (_, index) => ({ ...hook, id: `h${index}` }));
    expect(codesOf([...many, kill])).toHaveLength(20);
  });
});

describe('the example', () => {
  const folder = join(__dirname, '../../examples');

  it.each(readdirSync(folder).filter((file) => file.endsWith('.json')))('%s lets nobody act without a secret', (file) => {
    const nodes = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Definition[];
    const appliances = nodes.filter(({ type }) => type === 'gateway-appliance').map(({ id }) => id);
    const found = appliances.flatMap((id) => findUnguardedFlows(redOf(nodes), id));
    expect(found.filter(({ code }) => code === 'listens-without-secret')).toEqual([]);
  });
});

describe('the settings of Node-RED', () => {
  it('a security finding names the Node-RED version for settings, and the inventory for flows of an inventory', () => {
    const red = redOf([hook, { ...kill, appliance: '', inventory: 'i1' }], { version: '4.1.15', adminAuth: {} });
    setNodeRedRuntime(red);
    expect(createDiagnosticsOptions('a1').hostInfo?.()).toEqual({ versions: { 'node-red': '4.1.15' }, findings: [] });
    expect(createDiagnosticsOptions().hostInfo?.().findings).toMatchObject([{ code: 'listens-without-secret' }]);
  });

  it.each<[object, string[]]>([
    [{}, ['editor-without-login']],
    [{ adminAuth: {} }, []],
    [{ adminAuth: {}, credentialSecret: false }, ['credentials-in-clear']],
    [{ adminAuth: {}, credentialSecret: 'x' }, []],
  ])('settings of Node-RED with %j have the findings %j', (settings, codes) => {
    expect(findInsecureSettings(redOf([], settings)).map(({ code }) => code)).toEqual(codes);
  });
});
