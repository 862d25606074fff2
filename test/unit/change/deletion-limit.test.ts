import { describe, expect, it } from 'vitest';
import { expectFailure, listRequests, listWriteLines, startSimulatorWithGateway } from '../../helpers/simulated-appliance';

const ROLES = 'users/user-roles/user-role';

async function startWithRoles(count: number) {
  const started = await startSimulatorWithGateway();
  const roles = started.simulator.state.configuration.collection('users', 'user-roles', 'user-role');
  const present = roles.items.size;
  for (let index = present; index < count; index++) roles.add({ name: `Role ${index}` });
  return started;
}

describe('a deletion of a collection or a subtree', () => {
  it.each([
    ['config.delete', { path: ROLES }],
    ['config.delete', { path: `${ROLES}/`, 'missing-ok': true }],
    ['config.ensure-all', { resources: [{ path: ROLES, absent: true }], 'allow-absent': true }],
  ])('a deletion of more than 25 resources fails with LIMIT for %s %j, in a dry run too, after one read', async (operation, input) => {
    const { simulator, gateway } = await startWithRoles(30);
    for (const dryRun of [true, false]) {
      const error = await expectFailure(gateway.run(operation, input, { dryRun }));
      expect(error).toMatchObject({ code: 'LIMIT', cause: { changed: dryRun ? null : false } });
      expect(error.message).toMatch(/^At least 31 resources would be deleted, because .*user-role contains others, but max is 25\./);
    }
    expect(listRequests(simulator)).toHaveLength(2);
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('a deletion of a collection is planned with the number of resources, and done if it does not exceed max', async () => {
    const { simulator, gateway } = await startWithRoles(30);
    const input = { path: ROLES, max: 1000 };
    const { envelope } = await gateway.run('config.delete', input, { dryRun: true });
    const { resources } = envelope;
    expect(resources).toBeGreaterThan(30);
    expect(envelope).toMatchObject({
      plan: [{ method: 'DELETE' }],
      summary: `Would delete ${ROLES}; resources in total: ${String(resources)}.`,
    });
    expect((await expectFailure(gateway.run('config.delete', { ...input, max: Number(resources) - 1 }))).code).toBe('LIMIT');
    expect(listWriteLines(simulator)).toEqual([]);
    await expect(gateway.run('config.delete', { ...input, max: Number(resources) })).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect(listWriteLines(simulator)).toHaveLength(1);
  });

  it('deletions of a list count all resources together, each once', async () => {
    const { simulator, gateway } = await startWithRoles(30);
    const absent = (index: number) => ({ path: `${ROLES}/Role ${index}`, absent: true });
    const input = { 'allow-absent': true, resources: Array.from({ length: 10 }, (_, index) => absent(15 + index)) };
    // A role with the parts that it links to.
    const { envelope: one } = await gateway.run('config.delete', { path: absent(15).path }, { dryRun: true });
    const total = 10 * Number(one.resources);
    expect((await expectFailure(gateway.run('config.ensure-all', { ...input, max: total - 1 }))).code).toBe('LIMIT');
    expect(listWriteLines(simulator)).toEqual([]);
    const { envelope } = await gateway.run('config.ensure-all', { ...input, max: total, resources: [...input.resources, absent(99)] });
    expect(envelope).toMatchObject({ ok: true, changed: true, resources: total });
  });

  it('a deletion counts a resource that cannot be read as one, and fails if the given path cannot be read', async () => {
    const { simulator, gateway } = await startWithRoles(8);
    simulator.fault({
      match: ({ path }) => path.endsWith('/Users'),
      times: 2,
      status: 403,
      body: '{"result":{"errors":[{"message":"no"}]}}',
    });
    const { envelope } = await gateway.run('config.delete', { path: ROLES, max: 100 }, { dryRun: true });
    expect(Number(envelope.resources)).toBeGreaterThanOrEqual(9);
    expect((await expectFailure(gateway.run('config.delete', { path: `${ROLES}/Users` }))).code).toBe('FORBIDDEN');
  });
});
