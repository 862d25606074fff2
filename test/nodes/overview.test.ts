import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import helper from 'node-red-node-test-helper';
import { findApplianceFacts, recordRun, resetApplianceFacts } from '../../nodes/overview/appliance-facts';
import { NodeRedHarness } from '../helpers/node-red';

interface Overview {
  total: number;
  appliances: (Record<string, unknown> & {
    contact?: { at: string; value: { code: string | null } };
    sessions?: { at: string; value: number };
    licenses?: { at: string; value: { name: string; value: number }[] | string };
    backup?: { at: string; value: { ok: boolean; text: string } };
    waiting: { id: string; summary: string; actor?: string }[];
    outcomes: { summary: string | null; target: string | null; actor: string | null; undo: string[]; undone: boolean; ok: boolean }[];
    contained: { name: string }[];
    problems: string[];
  })[];
}

const disable = (more: object = {}): Record<string, unknown> => ({
  type: 'gateway-users',
  name: 'Off',
  operation: 'disable',
  fields: { server: { type: 'str', value: 'System Local' }, username: { type: 'str', value: 'contractor1' } },
  ...more,
});

const emptyEnvelope = {
  ...{ ok: true, operation: '', appliance: 'a', request: null, status: 200, result: { info: [], warnings: [], errors: [] }, changed: null },
  ...{ dryRun: false, requests: 0, retries: 0, logins: 0, ms: 1, at: '2026-11-23T04:00:00.000Z' },
};

describe('the overview', () => {
  const rig = new NodeRedHarness('node-red', { sessions: 30 });
  const folder = mkdtempSync(join(tmpdir(), 'gateway-overview-'));
  beforeAll(() => rig.start());
  afterEach(async () => {
    await rig.reset();
    resetApplianceFacts();
    rig.sim.requests.length = 0;
  });
  afterAll(async () => {
    await rig.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const read = async (): Promise<Overview> => (await helper.request().get('/gateway-appliance/overview')).body as Overview;
  const first = async (): Promise<Overview['appliances'][number]> => {
    const [appliance] = (await read()).appliances;
    if (!appliance) throw new Error('There is no appliance.');
    return appliance;
  };
  const post = async (route: string, body: object): Promise<Record<string, unknown>> =>
    (await helper.request().post(`/gateway-appliance/${route}`).send(body)).body as Record<string, unknown>;

  it('the overview lists an unused appliance without contacting it', async () => {
    await rig.deploy({ nodes: [] });
    expect(await read()).toMatchObject({
      total: 1,
      appliances: [{ id: 'a1', name: 'vpn-1', url: rig.sim.url, journal: false, outcomes: [] }],
    });
    expect(rig.sim.requests).toEqual([]);
  });

  it('the overview shows values and their time only after the user refreshes it', async () => {
    await rig.deploy({ nodes: [] });
    expect(await post('refresh', { id: 'a1' })).toEqual({ ok: true });
    const { contact, sessions, licenses, outcomes } = await first();
    expect([contact?.value.code, sessions?.value]).toEqual([null, 30]);
    expect(licenses?.value).toEqual(expect.arrayContaining([expect.objectContaining({ name: expect.any(String) as unknown })]));
    expect(Date.parse(sessions?.at ?? '')).toBeGreaterThan(0);
    expect(outcomes).toEqual([]);
    const requests = rig.sim.requests.length;
    await read();
    expect(rig.sim.requests).toHaveLength(requests);
  });

  it('the overview shows whether an appliance did not answer or is not deployed', async () => {
    await rig.deploy({ nodes: [], appliance: { url: 'https://127.0.0.1:9', timeout: 2 } });
    expect(await post('refresh', { id: 'a1' })).toMatchObject({ ok: false, code: 'CONNECTION' });
    expect((await first()).contact?.value).toMatchObject({ code: 'CONNECTION', message: expect.stringContaining('127.0.0.1') as unknown });
    expect(await post('refresh', { id: 'gone' })).toMatchObject({ ok: false, code: 'BAD_CONFIG' });
  });

  it('the overview shows why an appliance cannot be used', async () => {
    await rig.deploy({ nodes: [], credentials: { a1: {} } });
    expect((await first())['fault']).toContain('no credentials');
  });

  it('the overview shows who changed what, plans an undo, and performs it after a confirmation', async () => {
    await rig.deploy({ nodes: [disable()], appliance: { journal: folder } });
    await rig.run({ actor: 'night shift' });
    const [outcome] = (await first()).outcomes;
    expect(outcome).toMatchObject({ actor: 'night shift', ok: true, undone: false, summary: 'Disabled contractor1 on System Local.' });
    expect(outcome?.undo).toHaveLength(1);
    const writes = (): number => rig.sim.requests.filter(({ method }) => method === 'PUT').length;
    const request = { id: 'a1', entries: outcome?.undo };
    expect(await post('undo', request)).toMatchObject({ ok: true, dryRun: true, requests: 1 });
    expect(writes()).toBe(1);
    expect(await post('undo', { ...request, confirmed: true })).toMatchObject({ ok: true, dryRun: false });
    expect(writes()).toBe(2);
    const { outcomes } = await first();
    expect(outcomes.map(({ undone }) => undone)).toEqual([false, true]);
    expect(await post('undo', { id: 'a1', entries: [] })).toMatchObject({ ok: false, code: 'BAD_INPUT' });
  });

  it('the overview shows journal entries that an earlier process wrote', async () => {
    await rig.deploy({ nodes: [], appliance: { journal: folder } });
    const { journal, outcomes } = await first();
    expect(journal).toBe(true);
    expect(outcomes.at(-1)).toMatchObject({ summary: null, actor: 'night shift', target: 'contractor1/enabled' });
  });

  it('the overview shows waiting plans, and a decision lets the waiting message continue or fail', async () => {
    await rig.deploy({ nodes: [disable({ approval: true, outputs: 2, wires: [['out'], []] })] });
    const send = (actor: string): void => rig.node().receive({ _msgid: actor, actor });
    const waiting = async (): Promise<Overview['appliances'][number]['waiting'][number]> => {
      await vi.waitFor(async () => expect((await first()).waiting).toHaveLength(1), { timeout: 10_000 });
      const [plan] = (await first()).waiting;
      if (!plan) throw new Error('Nothing waits.');
      return plan;
    };
    send('anna');
    const { id, summary, actor } = await waiting();
    expect([summary, actor]).toEqual(['Would disable contractor1 on System Local.', 'anna']);
    expect(await post('decide', { id, decision: 'perhaps' })).toMatchObject({ ok: false, code: 'BAD_INPUT' });
    expect(await post('decide', { id, decision: 'approve' })).toEqual({ ok: true });
    expect((await rig.ended('anna')).out).toHaveLength(1);
    expect(await post('decide', { id, decision: 'approve' })).toMatchObject({ ok: false, code: 'BAD_INPUT' });
    send('bert');
    expect(await post('decide', { id: (await waiting()).id, decision: 'reject' })).toEqual({ ok: true });
    expect((await rig.ended('bert')).caught).toHaveLength(1);
    const { outcomes, waiting: left } = await first();
    expect([outcomes.map(({ ok }) => ok), left]).toEqual([[false, true], []]);
  });

  it('the overview shows contained people, and the last backup of a deployed backup node', async () => {
    const backups = { id: 'n2', type: 'gateway-backup', operation: 'run', fields: { folder: { type: 'str', value: folder } } };
    const contain = { type: 'gateway-contain', operation: 'contain', fields: { name: { type: 'str', value: 'k.lost' } }, every: 3600 };
    await rig.deploy({ nodes: [{ ...contain, outputs: 2, wires: [['out'], []] }, backups] });
    await rig.run({});
    await rig.run({}, 'n2');
    expect(await first()).toMatchObject({ contained: [{ name: 'k.lost' }], backup: { value: { ok: true } } });
    // A process that was started anew knows the backup from its folder.
    await rig.reset();
    resetApplianceFacts();
    await rig.deploy({ nodes: [backups] });
    expect(await first()).toMatchObject({ backup: { value: { ok: true } }, problems: [] });
  });

  it('the overview ignores runs of a rehearsal, and does not take a filtered session list for the number of all sessions', () => {
    const envelope = { ...emptyEnvelope, operation: 'sessions.list', total: 7, requests: 1 };
    const run = { operation: 'sessions.list', input: {}, data: [], envelope, initiator: undefined };
    recordRun('a', { ...run, envelope: { ...envelope, rehearsal: true } });
    expect(findApplianceFacts('a')).toBeUndefined();
    recordRun('a', { ...run, input: { name: 'j.doe' } });
    expect(findApplianceFacts('a')).toMatchObject({ contact: { value: { code: null } } });
    expect(findApplianceFacts('a')?.sessions).toBeUndefined();
    recordRun('a', run);
    expect(findApplianceFacts('a')?.sessions?.value).toBe(7);
  });

  it('the overview lists the appliances of an inventory', async () => {
    const list = JSON.stringify([{ name: 'vpn-eu-1', url: 'https://vpn-eu-1.example.com' }]);
    const inventory = { id: 'inv1', type: 'gateway-inventory', name: 'ours', source: 'list', list, defaults: '{"realm": "Admin Users"}' };
    await rig.deploy({ nodes: [], more: [inventory] });
    await vi.waitFor(async () => expect((await read()).total).toBe(2));
    expect((await read()).appliances[1]).toMatchObject({ inventory: 'inv1', name: 'vpn-eu-1', url: 'https://vpn-eu-1.example.com' });
  });
});
