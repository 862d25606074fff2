import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PendingApprovals } from '../../../src/run/pending-approvals';
import type { RequestApproval, Proposal } from '../../../src/run/approval';
import type { BulkResult } from '../../../src/model/envelope';
import { GatewayError } from '../../../src/model/error';
import { LightAbortController } from '../../../src/model/abort';
import type { Simulator } from '../../../src/simulator';
import {
  expectFailure,
  gatewayFor,
  startSimulatorWithGateway,
  getThrownError,
  ACTIVE_USERS_PATH,
  listWriteLines,
} from '../../helpers/simulated-appliance';
import { serializeConfiguration, startWithJournal, fetchJournalEntries } from '../../helpers/journal';

const APPROVED = { by: 'a.boss', at: '2026-11-21T08:00:00.000Z' };
const USERS_OF = '/api/v1/configuration/authentication/auth-servers/auth-server/System%20Local/local/users/user';

/** Approves after `meanwhile`; keeps what was proposed. */
function approving(meanwhile: () => void | Promise<void> = () => undefined): { approve: RequestApproval; proposals: Proposal[] } {
  const proposals: Proposal[] = [];
  const approve: RequestApproval = async (proposal) => {
    proposals.push(proposal);
    await meanwhile();
    return APPROVED;
  };
  return { approve, proposals };
}

const own = (simulator: Simulator, count: number): string[] =>
  Array.from({ length: count }, () => simulator.state.sessions.add({ 'active-user-name': 'j.doe', 'authentication-realm': 'Users' }));

describe('A write that requires approval', () => {
  it('A write that requires approval is shown as a summary and a plan, and sent only after the approval', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const seen: string[][] = [];
    const { approve, proposals } = approving(() => void seen.push(listWriteLines(simulator)));
    const input = { server: 'System Local', username: 'j.doe', 'password-cleartext': 'correct horse battery', fullname: 'J' };
    const { envelope } = await gateway.run('users.create', input, { approve });
    expect(seen).toEqual([[]]);
    expect(proposals).toHaveLength(1);
    expect(proposals[0]).toMatchObject({ operation: 'users.create', appliance: gateway.name });
    expect(proposals[0]?.summary).toMatch(/would|send/i);
    expect(proposals[0]?.plan).toMatchObject([{ method: 'POST' }]);
    expect(JSON.stringify(proposals)).not.toContain('correct horse');
    expect(envelope).toMatchObject({ ok: true, changed: true, dryRun: false, approved: APPROVED });
    expect(envelope).not.toHaveProperty('plan');
    expect(listWriteLines(simulator)).toHaveLength(1);
  });

  it('A write that requires approval is run without approval if nothing would be written: a read, a dry run, no difference', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { approve, proposals } = approving();
    await gateway.run('system.info', {}, { approve });
    expect((await gateway.run('sessions.kill', { 'session-id': 'sid1' }, { approve, dryRun: true })).envelope.plan).toHaveLength(1);
    const none = await gateway.run('sessions.kill-user', { name: 'nobody-at-all' }, { approve });
    expect(none.envelope).toMatchObject({ ok: true, changed: false });
    expect(none.envelope).not.toHaveProperty('approved');
    expect(proposals).toEqual([]);
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('A write that is declined fails with the error of the decision, and nothing is sent', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const approvals = new PendingApprovals(60);
    const approve: RequestApproval = () => {
      const { id, decision } = approvals.add(undefined);
      approvals.reject(id, 'a.boss');
      return decision;
    };
    const error = await expectFailure(gateway.run('sessions.kill', { 'session-id': 'sid1' }, { approve }));
    expect(error).toMatchObject({
      code: 'DECLINED',
      cause: { ok: false, changed: false, operation: 'sessions.kill', declined: { by: 'a.boss' } },
    });
    expect(error.cause?.summary).toContain('DECLINED');
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('A write that waits for approval fails with ABORTED if it is canceled', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const stop = new LightAbortController();
    const approve: RequestApproval = () => {
      stop.abort();
      return new Promise(() => undefined);
    };
    const error = await expectFailure(gateway.run('sessions.kill', { 'session-id': 'sid1' }, { approve, signal: stop }));
    expect(error).toMatchObject({ code: 'ABORTED', cause: { changed: false } });
    expect(listWriteLines(simulator)).toEqual([]);
  });
});

describe('A run after its approval', () => {
  it('An approved run ends seven of ten approved sessions if three ended meanwhile, and no other session', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 0 });
    const ids = own(simulator, 10);
    let eleventh: string[] = [];
    const { approve, proposals } = approving(() => {
      for (const id of ids.slice(0, 3)) simulator.state.sessions.end(id);
      eleventh = own(simulator, 1);
    });
    const { data, envelope } = await gateway.run('sessions.kill-user', { name: 'j.doe' }, { approve });
    expect(proposals[0]?.plan).toHaveLength(10);
    expect(data as BulkResult).toMatchObject({ total: 7, ok: 7, failed: 0 });
    expect(envelope).toMatchObject({ ok: true, changed: true, notApproved: [{ 'session-id': eleventh[0] }] });
    expect(listWriteLines(simulator)).toHaveLength(7);
    expect(simulator.state.sessions.ids()).toEqual(eleventh);
  });

  it('An approved run ends only approved sessions, even if another session starts after the plan', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 0 });
    const ids = own(simulator, 10);
    let eleventh: string[] = [];
    const isList = ({ method, path }: { method: string; path: string }): boolean => method === 'GET' && path.startsWith(ACTIVE_USERS_PATH);
    const { approve } = approving(() => simulator.fault({ match: isList, sideEffect: () => void (eleventh = own(simulator, 1)) }));
    const { data } = await gateway.run('sessions.kill-user', { name: 'j.doe' }, { approve });
    expect(data as BulkResult).toMatchObject({ total: 10, ok: 10 });
    expect(eleventh).toHaveLength(1);
    expect(simulator.state.sessions.ids()).toEqual(eleventh);
    for (const id of ids) expect(simulator.state.sessions.has(id)).toBe(false);
  });

  it('An approved run undoes the approved writes, except a write whose resource changed meanwhile', async () => {
    const { simulator, gateway } = await startWithJournal();
    const before = serializeConfiguration(simulator);
    const user = { server: 'System Local', username: 'contractor1' };
    await gateway.run('config.update', { path: 'users/user-roles/user-role/Users', body: { description: 'ours' } });
    await gateway.run('users.delete', user);
    const entries = await fetchJournalEntries(gateway);
    expect(serializeConfiguration(simulator)).not.toBe(before);
    simulator.requests.length = 0;
    const declined = gateway.run('journal.undo', { id: entries }, { approve: () => Promise.reject(new GatewayError('DECLINED', 'No.')) });
    expect((await expectFailure(declined)).code).toBe('DECLINED');
    expect(listWriteLines(simulator)).toEqual([]);
    const role = simulator.state.configuration.resource('users', 'user-roles', 'user-role', 'Users');
    const { approve, proposals } = approving(() => void role.values.set('description', 'theirs'));
    const { data, envelope } = await gateway.run('journal.undo', { id: entries }, { approve });
    expect(proposals[0]?.plan).toMatchObject([{ method: 'PUT' }, { method: 'PUT', body: { description: '' } }]);
    expect(proposals[0]?.summary).toEqual(
      expect.stringMatching(/^Would undo writes with 2 requests\. For: .*contracto…, users\/user-roles\/user-role\/Users\.$/),
    );
    expect(data).toMatchObject({ total: 2, ok: 1, results: [{ ok: true }, { ok: false, error: { code: 'CONFLICT' } }] });
    expect(envelope).toMatchObject({ approved: APPROVED, changed: true });
    expect(role.values.get('description')).toBe('theirs');
    role.values.set('description', '');
    expect(serializeConfiguration(simulator)).toBe(before);
  });

  it('An approved run succeeds without a change if everything is already done', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 0 });
    own(simulator, 2);
    const { approve } = approving(() => simulator.state.sessions.endAll());
    const { data, envelope } = await gateway.run('sessions.kill-user', { name: 'j.doe' }, { approve });
    expect(data).toMatchObject({ total: 0, failed: 0 });
    expect(envelope).toMatchObject({ ok: true, changed: false, approved: APPROVED });
    expect(envelope).not.toHaveProperty('notApproved');
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('An approved run fails with CONFLICT and sends nothing if another client changed the resource meanwhile', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const other = gatewayFor(simulator);
    const path = `${USERS_OF}/j.doe`;
    const input = { server: 'System Local', username: 'j.doe', fullname: 'As it was', 'password-cleartext': 'correct horse 1' };
    await other.run('users.create', input);
    const { approve, proposals } = approving(() =>
      other.run('users.update', { server: 'System Local', username: 'j.doe', enabled: false }).then(),
    );
    const before = listWriteLines(simulator).length;
    const error = await expectFailure(gateway.run('config.ensure', { path, body: { fullname: 'Another' } }, { approve }));
    expect(proposals[0]?.plan).toMatchObject([{ method: 'PUT', path }]);
    expect(error).toMatchObject({ code: 'CONFLICT', cause: { changed: false, approved: APPROVED, beyond: { method: 'PUT', path } } });
    expect(listWriteLines(simulator)).toHaveLength(before + 1);
  });

  it('An approved run sends nothing if another client made the same change', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const other = gatewayFor(simulator);
    const input = { server: 'System Local', username: 'j.doe', fullname: 'As it was', 'password-cleartext': 'correct horse 1' };
    await other.run('users.create', input);
    const { approve } = approving(() =>
      other.run('users.update', { server: 'System Local', username: 'j.doe', fullname: 'Another' }).then(),
    );
    const before = listWriteLines(simulator).length;
    const { envelope } = await gateway.run('config.ensure', { path: `${USERS_OF}/j.doe`, body: { fullname: 'Another' } }, { approve });
    expect(envelope).toMatchObject({ ok: true, changed: false, approved: APPROVED });
    expect(listWriteLines(simulator)).toHaveLength(before + 1);
  });

  it('An approved run writes only the approved resources that have not changed meanwhile', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const other = gatewayFor(simulator);
    for (const username of ['a.one', 'a.two']) {
      await other.run('users.create', { server: 'System Local', username, fullname: 'As it was', 'password-cleartext': 'correct horse 1' });
    }
    const { approve } = approving(() => other.run('users.update', { server: 'System Local', username: 'a.two', enabled: false }).then());
    const resources = ['a.one', 'a.two'].map((name) => ({ path: `${USERS_OF}/${name}`, body: { fullname: 'Another' } }));
    const { data, envelope } = await gateway.run('config.ensure-all', { resources }, { approve });
    expect(data).toMatchObject({ total: 2, ok: 1, failed: 1, results: [{ ok: true }, { ok: false, error: { code: 'CONFLICT' } }] });
    expect(envelope).toMatchObject({ ok: false, changed: true });
    expect((await other.run('users.get', { server: 'System Local', username: 'a.two' })).data).toMatchObject({ fullname: 'As it was' });
  });

  it('An approved run sends the approved secret, which the plan does not show', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const input = { server: 'System Local', username: 'j.doe', 'password-cleartext': 'correct horse 1' };
    const { approve, proposals } = approving(() => void (input['password-cleartext'] = 'another horse 2'));
    const error = await expectFailure(gateway.run('users.create', input, { approve }));
    expect(JSON.stringify(proposals)).not.toMatch(/horse/);
    expect(error.code).toBe('CONFLICT');
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('An approved run updates several fields of a user whose encrypted password the appliance shows', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('users.create', {
      server: 'System Local',
      username: 'j.doe',
      fullname: 'J',
      'password-cleartext': 'correct horse 1',
    });
    simulator.fault({
      match: ({ method, path }) => method === 'GET' && path === `${USERS_OF}/j.doe`,
      times: 3,
      body: (answer) => answer.replace(/}$/, ',"password-encrypted":"3u+UR6n8"}'),
    });
    const { approve, proposals } = approving();
    const input = { server: 'System Local', username: 'j.doe', fullname: 'Jane', enabled: false };
    // This appliance knows no such field, and says so: it was sent.
    expect((await expectFailure(gateway.run('users.update', input, { approve }))).code).toBe('REJECTED');
    expect(JSON.stringify(proposals)).toContain('password-encrypted');
    expect(JSON.stringify(proposals)).not.toContain('3u+UR6n8');
    expect(simulator.requests.at(-1)?.body).toContain('3u+UR6n8');
  });

  it('An approved run fails with CONFLICT if the file to send has changed since the plan', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = mkdtempSync(join(tmpdir(), 'approval-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'configuration.xml');
    await gateway.run('transfer.export-xml', { file });
    const same = approving();
    expect((await gateway.run('transfer.import-xml', { file }, { approve: same.approve })).envelope).toMatchObject({ approved: APPROVED });
    const before = listWriteLines(simulator).length;
    const other = approving(() => writeFileSync(file, '<configuration><two/></configuration>'));
    const error = await expectFailure(gateway.run('transfer.import-xml', { file }, { approve: other.approve }));
    expect(error.code).toBe('CONFLICT');
    expect(listWriteLines(simulator)).toHaveLength(before);
  });

  it('An approved run sends exactly the approved certificate bundle, whose key the plan does not show', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const input = { cert: Buffer.from('0123456789 a bundle').toString('base64'), password: 'correct horse' };
    const { approve, proposals } = approving(() => void (input.cert = Buffer.from('another bundle').toString('base64')));
    expect((await expectFailure(gateway.run('certificates.upload', input, { approve }))).code).toBe('CONFLICT');
    expect(JSON.stringify(proposals)).not.toContain(input.cert);
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('An approved run sends exactly the approved body of gateway-request, of any type', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const body = Buffer.from('one of these');
    const { approve } = approving(() => void body.write('two'));
    const input = { path: 'system/license-key', body, 'content-type': 'text/plain' };
    expect((await expectFailure(gateway.run('request.post', input, { approve }))).code).toBe('CONFLICT');
  });
});

describe('PendingApprovals', () => {
  const held = (approvals: PendingApprovals) => {
    const { id, decision, expires } = approvals.add(undefined);
    return {
      id,
      expires,
      decision: decision.then(
        (approved) => approved,
        (error: unknown) => error,
      ),
    };
  };

  it('PendingApprovals approves each plan once, by its id', async () => {
    const approvals = new PendingApprovals(60);
    const [one, other] = [held(approvals), held(approvals)];
    expect(one.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(one.id).not.toBe(other.id);
    for (const id of ['', 'forged', one.id.toUpperCase(), 17, true, { id: one.id }, [one.id]]) {
      expect(getThrownError(() => approvals.approve(id, 'x'))?.code).toBe('BAD_INPUT');
      expect(getThrownError(() => approvals.reject(id, 'x'))?.code).toBe('BAD_INPUT');
    }
    approvals.approve(one.id, 'a.boss');
    expect(await one.decision).toMatchObject({ by: 'a.boss' });
    expect(getThrownError(() => approvals.approve(one.id, 'a.boss'))?.code).toBe('BAD_INPUT');
    expect(getThrownError(() => approvals.reject(one.id, 'a.boss'))?.code).toBe('BAD_INPUT');
    approvals.reject(other.id, { name: 'no text' });
    expect(await other.decision).toMatchObject({ code: 'DECLINED' });
  });

  it('PendingApprovals rejects an approval after its deadline, even if the timer is late', async () => {
    const soon = held(new PendingApprovals(0.0001));
    expect(await soon.decision).toMatchObject({ code: 'EXPIRED' });
    let now = Date.parse('2026-11-21T08:00:00Z');
    const approvals = new PendingApprovals(60, () => now);
    const late = held(approvals);
    expect(late.expires).toBe('2026-11-21T09:00:00.000Z');
    now += 3_600_000;
    expect(getThrownError(() => approvals.approve(late.id, 'a.boss'))?.code).toBe('BAD_INPUT');
    expect(await late.decision).toMatchObject({ code: 'EXPIRED' });
  });

  it('PendingApprovals holds at most one hundred plans, not counting canceled ones', () => {
    const approvals = new PendingApprovals(60);
    const stop = new LightAbortController();
    const [first] = Array.from({ length: 100 }, () => approvals.add(stop));
    expect(getThrownError(() => approvals.add(undefined))?.code).toBe('LIMIT');
    stop.abort();
    expect(getThrownError(() => approvals.approve(first?.id, 'x'))?.code).toBe('BAD_INPUT');
    expect(getThrownError(() => approvals.add(stop))?.code).toBe('ABORTED');
    const { id } = approvals.add(undefined);
    approvals.approve(id, 'x');
  });
});
