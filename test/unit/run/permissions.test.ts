import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { operations } from '../../../src/areas';
import type { GatewayError } from '../../../src/model/error';
import type { Operation } from '../../../src/model/operation';
import type { Permissions } from '../../../src/model/rules';
import { createPermissionCheck, assertOperationAllowed } from '../../../src/run/permissions';
import {
  startTestSimulator,
  getThrownCode,
  expectFailure,
  gatewayFor,
  listRequestLines,
  startSimulatorWithGateway,
  getThrownError,
  settingsFor,
  listWriteLines,
} from '../../helpers/simulated-appliance';
import { Gateway } from '../../../src/gateway/gateway';
import { runOnMany, type RunOnManyOptions, type RunOnManyOutcome } from '../../../src/inventory/run-on-many';
import { safeMessage } from '../../../src/model/safe-message';
import { eventually } from '../../helpers/eventually';
import { resetContainmentStores } from '../../helpers/reset-process-state';

afterEach(resetContainmentStores);

const table = [...operations].filter(([name]) => !name.startsWith('login.'));
const namesOf = (...effects: string[]): string[] => table.filter(([, { effect }]) => effects.includes(effect)).map(([name]) => name);
const ROLE = '/users/user-roles/user-role/Users';

async function refused(permissions: Permissions, name: string, dryRun = false): Promise<void> {
  const simulator = await startTestSimulator();
  const gateway = gatewayFor(simulator, { permissions });
  const error = await expectFailure(gateway.run(name, operations.get(name)?.example.input, { dryRun }));
  expect(error).toMatchObject({ code: 'LIMIT', cause: { changed: dryRun ? null : false, requests: 0 } });
  expect(error.message).toContain(permissions);
  expect(listRequestLines(simulator)).toEqual([]);
  expect(simulator.logins).toBe(0);
}

describe('The permission read-only', () => {
  it.each(namesOf('write', 'destroy'))('The permission read-only rejects every %s', (name) => refused('read-only', name));

  it('The permission read-only rejects the dry run of every write too', () => refused('read-only', 'sessions.kill-all', true));

  it('The permission read-only allows every read, including exports by POST and logins', async () => {
    const { gateway } = await startSimulatorWithGateway({}, { permissions: 'read-only' });
    for (const name of ['system.info', 'sessions.list', 'transfer.export-xml', 'login.login', 'login.forget'])
      expect((await gateway.run(name)).envelope.ok).toBe(true);
  });
});

describe('The permission no-destroy', () => {
  it.each(namesOf('destroy'))('The permission no-destroy rejects every %s', (name) => refused('no-destroy', name));

  it('The permission no-destroy allows writes that destroy nothing', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { permissions: 'no-destroy' });
    await gateway.run('config.update', { path: `${ROLE}/description`, body: { description: 'x' } });
    await gateway.run('config.ensure', { path: ROLE, body: { description: 'y' } });
    await gateway.run('users.create', { server: 'System Local', username: 'new.one', 'password-cleartext': 'correct horse battery' });
    expect(listWriteLines(simulator)).toHaveLength(3);
  });

  it('The permission no-destroy rejects a PUT that omits or empties an existing value, and its plan', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { permissions: 'no-destroy' });
    const present = (await gateway.run('config.get', { path: ROLE })).data as Record<string, unknown>;
    const path = `/api/v1/configuration${ROLE}`;
    for (const [body, field] of [
      [{ description: 'x' }, /^This PUT removes \/\S+ of/],
      [{ ...present, name: null }, /^This PUT removes \/name of/],
    ] as const) {
      for (const dryRun of [false, true]) {
        const error = await expectFailure(gateway.run('config.update', { path: ROLE, body }, { dryRun }));
        expect(error).toMatchObject({ code: 'LIMIT', details: { sent: false, statusReason: 'not-permitted' } });
        expect([error.message, error.message.includes(`of ${path}. `), error.message.includes('no-destroy')]).toEqual([
          expect.stringMatching(field),
          true,
          true,
        ]);
      }
    }
    expect(listWriteLines(simulator)).toEqual([]);
    await gateway.run('config.update', { path: ROLE, body: { ...present, description: 'x' } });
    expect(listWriteLines(simulator)).toHaveLength(1);
  });

  it('The permission no-destroy does not send a PUT if the current resource cannot be read', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { permissions: 'no-destroy' });
    simulator.fault({ match: ({ method, path }) => method === 'GET' && path.includes('user-role'), status: 403, times: 9 });
    const error = await expectFailure(gateway.run('config.update', { path: ROLE, body: { description: 'x' } }));
    expect([error.code, error.message.includes('cannot be read')]).toEqual(['LIMIT', true]);
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('The permission no-destroy rejects a PUT that replaces a linked collection, or an item of a collection that cannot be read', async () => {
    const linked = await startSimulatorWithGateway({ variants: { collectionInParent: 'link' } }, { permissions: 'no-destroy' });
    for (const value of [[], null, '', 0]) {
      const input = { path: 'users/user-roles', body: { 'user-role': value } };
      expect((await expectFailure(linked.gateway.run('config.update', input))).message).toMatch(/^This PUT removes \/user-role of/);
    }
    const hidden = await startSimulatorWithGateway({ variants: { usersAt: 'users', putMerges: false } }, { permissions: 'no-destroy' });
    const users = 'authentication/auth-servers/auth-server/System%20Local/local/users/user';
    const error = await expectFailure(hidden.gateway.run('config.update', { path: users, body: { name: 'x', username: 'contractor1' } }));
    expect(error.message).toMatch(/^This PUT removes \/fullname of .*contractor1\. /);
    expect([...listWriteLines(linked.simulator), ...listWriteLines(hidden.simulator)]).toEqual([]);
    await hidden.gateway.run('config.update', { path: 'users/user-roles/user-role/New', body: { name: 'New' } });
    expect(listWriteLines(hidden.simulator)).toHaveLength(1);
  });

  it('The permission no-destroy compares a field with its resource if the appliance does not show the field alone', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { permissions: 'no-destroy' });
    const path = 'administrators/admin-realms/realm/Admin%20Users/role-mapping-rules/rule';
    simulator.fault({ match: (request) => request.method === 'GET' && request.path.endsWith('/rule'), status: 404, times: 9 });
    const error = await expectFailure(gateway.run('config.update', { path, body: { rule: 'none' } }));
    expect(error.message).toMatch(/^This PUT removes \/rule\/0 of/);
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('The permission no-destroy rejects a deletion inside another write', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { permissions: 'no-destroy' });
    const input = { resources: [{ path: ROLE, absent: true }], 'allow-absent': true };
    expect(await expectFailure(gateway.run('config.ensure-all', input))).toMatchObject({ code: 'LIMIT' });
    expect(await expectFailure(gateway.run('config.ensure-all', input, { dryRun: true }))).toMatchObject({ code: 'LIMIT' });
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('The permission no-destroy allows the lock-out guard to undo a change', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { permissions: 'no-destroy' });
    const ips = '/administrators/admin-realms/realm/Admin%20Users/authentication-policy/source-ip';
    await gateway.run('administrators.add-source-ip', { realm: 'Admin Users', address: '127.0.0.0', netmask: '255.0.0.0' });
    await gateway.run('config.update', { path: `${ips}/customized`, body: { customized: 'selected-ip' } });
    const before = listWriteLines(simulator).length;
    const input = { realm: 'Admin Users', access: 'deny', address: '127.0.0.1', netmask: '255.255.255.255' };
    expect(await expectFailure(gateway.run('administrators.add-source-ip', input))).toMatchObject({
      code: 'LOCKED_OUT',
      cause: { restored: true },
    });
    expect(listWriteLines(simulator).slice(before)).toEqual([
      expect.stringContaining('POST ') as string,
      expect.stringContaining('DELETE ') as string,
    ]);
  });
});

describe('A forbidden write', () => {
  const READ_ONLY = 'The appliance node may only read: its permissions are read-only. Nothing was sent.';
  const NO_DESTROY =
    'The appliance node allows nothing that ends, removes or replaces something: its permissions are no-destroy. Nothing was sent.';
  const operation = (name: string): Operation => operations.get(name) as Operation;

  it.each<[string, Permissions, string | undefined]>([
    ['sessions.kill', 'full', undefined],
    ['sessions.list', 'read-only', undefined],
    ['login.login', 'read-only', undefined],
    ['config.update', 'no-destroy', undefined],
    ['config.update', 'read-only', `config.update is not allowed. ${READ_ONLY}`],
    ['sessions.kill', 'read-only', `sessions.kill is not allowed. ${READ_ONLY}`],
    ['sessions.kill', 'no-destroy', `sessions.kill is not allowed. ${NO_DESTROY}`],
  ])('the write %s is rejected with permissions %s: %s', (name, permissions, message) => {
    const refusal = getThrownError(() => assertOperationAllowed(name, operation(name), permissions));
    expect(refusal?.message).toBe(message);
    if (refusal) expect(refusal).toMatchObject({ code: 'LIMIT', details: { sent: false } });
  });

  it('the setting permissions is checked for each write of an operation', () => {
    expect(createPermissionCheck('full')).toBeUndefined();
    const refusals = (['read-only', 'no-destroy'] as const).map((permissions) =>
      (['PUT', 'DELETE'] as const).map(
        (method) => getThrownError(() => createPermissionCheck(permissions)?.({ method, path: '/a' }))?.message,
      ),
    );
    expect(refusals).toEqual([
      [`PUT /a is not allowed. ${READ_ONLY}`, `DELETE /a is not allowed. ${READ_ONLY}`],
      [undefined, `DELETE /a is not allowed. ${NO_DESTROY}`],
    ]);
  });
});

describe('The containment of a contained user', () => {
  it('A node with read-only permission does not enforce a containment, and says so', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-permissions-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('contain.contain', { name: 'a.smith', folder });
    const before = listWriteLines(simulator);
    simulator.state.sessions.add({ 'active-user-name': 'a.smith' });
    const faults: GatewayError[] = [];
    const onPoll = (_contained: number, fault: GatewayError | undefined): void => void (fault && faults.push(fault));
    for (const permissions of ['read-only', 'no-destroy'] as const) {
      faults.length = 0;
      onTestFinished(gatewayFor(simulator, { permissions }).enforceContainments({ every: 0.01, folder, onPoll }));
      await eventually(() => expect(faults[0]?.code).toBe('LIMIT'));
    }
    expect(listWriteLines(simulator)).toEqual(before);
  });
});

describe('The setting permissions', () => {
  it('The setting permissions is full by default and rejects other values', async () => {
    const { gateway } = await startSimulatorWithGateway();
    await gateway.run('sessions.kill-all');
    const settings = settingsFor({ url: 'https://vpn.example.com' });
    expect(getThrownCode(() => new Gateway({ ...settings, permissions: 'full' }))).toBe('none');
    for (const odd of ['', 'readonly', 'none', 5])
      expect(getThrownError(() => new Gateway({ ...settings, permissions: odd as 'full' }))).toMatchObject({
        code: 'BAD_CONFIG',
        message: expect.stringContaining('permissions') as string,
      });
  });
});

describe('a PUT that removes something', () => {
  it('a PUT that removes something counts as destroying: it needs maxAppliances above 25 appliances and the permission of the dialog', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const targets = Array.from({ length: 26 }, (_, index) => ({ name: `vpn-${index}`, gateway: () => gateway }));
    const update = (options: RunOnManyOptions): Promise<RunOnManyOutcome> =>
      runOnMany(targets, 'config.update', { path: ROLE, body: { description: 'x' } }, options);
    expect((await expectFailure(update({}))).message).toContain('More than 25 appliances are selected');
    expect(listWriteLines(simulator)).toEqual([]);
    await update({ maxAppliances: 26 });
    expect(listWriteLines(simulator)).toHaveLength(26);
    const refusal = gateway.run('config.update', { path: ROLE, body: {} }, { removalRefusal: safeMessage`Only the dialog may choose it.` });
    expect((await expectFailure(refusal)).message).toMatch(/^This PUT removes .* Only the dialog may choose it\. Nothing was sent\.$/);
  });
});
