import { describe, expect, it } from 'vitest';
import { EntityTags } from '../../../src/run/entity-tags';
import { expectFailure, startSimulatorWithGateway } from '../../helpers/simulated-appliance';
import { createTemporaryFolder } from '../../helpers/temporary';

const ROLE = 'users/user-roles/user-role/Users';
const USER = { server: 'System Local', username: 'contractor1' };

async function startTagged(etags = true) {
  const { simulator, gateway } = await startSimulatorWithGateway({ variants: { etags } });
  const role = simulator.state.configuration.resource('users', 'user-roles', 'user-role', 'Users');
  const setByOther = (): Promise<void> => {
    role.values.set('description', 'by somebody else');
    return Promise.resolve();
  };
  const listTags = (): unknown[] =>
    simulator.requests.filter(({ method }) => method === 'PUT' || method === 'DELETE').map(({ headers }) => headers['if-match']);
  return { simulator, gateway, role, setByOther, listTags };
}

describe('an appliance that sends ETags', () => {
  it('an appliance with ETags refuses ensure, revert and delete with CONFLICT if somebody writes after the last read', async () => {
    const { gateway, role, setByOther, listTags } = await startTagged();
    const folder = createTemporaryFolder();
    await gateway.run('snapshot.take', { folder, path: 'users/user-roles' });
    role.values.set('description', 'later');
    for (const [operation, input] of [
      ['config.ensure', { path: ROLE, body: { description: 'mine' } }],
      ['config.delete', { path: ROLE, max: 100 }],
    ] as const) {
      const error = await expectFailure(gateway.run(operation as string, input, { beforeWrite: setByOther }));
      expect(error, operation).toMatchObject({ code: 'CONFLICT', details: { status: 412 } });
      expect(role.text('description')).toBe('by somebody else');
      role.values.set('description', 'later');
    }
    const { many } = await gateway.run('snapshot.revert', { folder, path: ROLE }, { beforeWrite: setByOther });
    expect(JSON.stringify(many?.results)).toContain('"code":"CONFLICT"');
    expect(listTags()).toEqual([expect.any(String), expect.any(String), expect.any(String)]);
    // Nobody interferes now.
    expect((await gateway.run('config.ensure', { path: ROLE, body: { description: 'mine' } })).envelope.changed).toBe(true);
    expect((await gateway.run('users.enable', USER)).envelope.ok).toBe(true);
    expect((await gateway.run('config.update', { path: `${ROLE}/description`, body: { description: 'x' } })).envelope.ok).toBe(true);
  });

  it('without ETags, no other write is lost except between the last read and the write', async () => {
    const { gateway, setByOther, listTags } = await startTagged(false);
    await gateway.run('config.ensure', { path: ROLE, body: { description: 'mine' } }, { beforeWrite: setByOther });
    expect(listTags()).toEqual([undefined]);
  });
});

describe('EntityTags', () => {
  const read = { method: 'GET', path: '/api/v1/configuration/users/x/' } as const;
  const write = { method: 'PUT', path: '/api/v1/configuration/users/x' } as const;

  it('the ETag of the last read is kept until a write at, above or below its path', () => {
    const tags = new EntityTags();
    const record = (etag: string | undefined, status = 200): unknown => {
      tags.recordRead(read, status, etag);
      return tags.headersFor(write)?.['if-match'];
    };
    expect(record('"a"')).toBe('"a"');
    expect(tags.headersFor({ ...write, method: 'DELETE' })).toEqual({ 'if-match': '"a"' });
    for (const request of [read, { ...write, method: 'POST' as const }, { ...write, rawQuery: 'all' }])
      expect(tags.headersFor(request)).toBeUndefined();
    for (const unusable of ['W/"a"', 'a', '"a\r\nb"', undefined]) expect(record(unusable)).toBeUndefined();
    record('"a"');
    expect(record('"a"', 404)).toBeUndefined();
    for (const path of ['', '/users', '/users/x', '/users/x/y'].map((end) => `/api/v1/configuration${end}`)) {
      record('"a"');
      tags.recordWrite({ method: 'PUT', path });
      expect(tags.headersFor(write), path).toBeUndefined();
    }
    record('"a"');
    tags.recordWrite({ method: 'PUT', path: '/api/v1/configuration/users/xy' });
    expect(tags.headersFor(write)).toBeDefined();
  });
});
