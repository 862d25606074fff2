import { describe, expect, it } from 'vitest';
import { ResponseBody } from '../../../src/http/response-body';
import { EntityTags, EntityTagSupport } from '../../../src/run/entity-tags';
import { fetchJournalEntries, startWithJournal } from '../../helpers/journal';
import { asBulkResult, expectFailure, listWriteLines, startSimulatorWithGateway } from '../../helpers/simulated-appliance';
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

  it('without ETags, the write of another client is lost only between the last read and the write', async () => {
    const { gateway, setByOther, listTags } = await startTagged(false);
    await gateway.run('config.ensure', { path: ROLE, body: { description: 'mine' } }, { beforeWrite: setByOther });
    expect(listTags()).toEqual([undefined]);
  });
});

describe('an undo at an appliance that sends ETags', () => {
  it('an undo ends as CONFLICT and restores nothing if somebody writes after its last read', async () => {
    const { simulator, gateway } = await startWithJournal({ variants: { etags: true } });
    const role = simulator.state.configuration.resource('users', 'user-roles', 'user-role', 'Users');
    const before = role.text('description');
    await gateway.run('config.update', { path: `${ROLE}/description`, body: { description: 'mine' } });
    await gateway.run('config.ensure', { path: ROLE, body: { description: 'later' } });
    const setByOther = (): Promise<void> => Promise.resolve(void role.values.set('description', 'by somebody else'));
    const [last, first] = (await fetchJournalEntries(gateway)).map(({ id }) => id);
    const error = await expectFailure(gateway.run('journal.undo', { id: last }, { beforeWrite: setByOther }));
    expect(error).toMatchObject({ code: 'CONFLICT', details: { status: 412 }, cause: { changed: false } });
    expect(role.text('description')).toBe('by somebody else');
    const [undo] = await fetchJournalEntries(gateway);
    expect(undo).toMatchObject({ operation: 'journal.undo', ok: false, code: 'CONFLICT', changed: false, undo: false });
    // Nobody interferes now.
    role.values.set('description', 'later');
    const { data, envelope } = await gateway.run('journal.undo', { id: [last, first] });
    expect([asBulkResult(data).ok, envelope.changed, role.text('description')]).toEqual([2, true, before]);
  });
});

describe('an appliance that sends another ETag in each response', () => {
  it('an appliance with another ETag in each response is written without If-Match after two equal reads', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { etags: true, etagPerResponse: true } });
    const path = 'users/user-roles/user-role/Unused';
    expect((await gateway.run('config.ensure', { path, body: { description: 'mine' } })).envelope.changed).toBe(true);
    expect((await gateway.run('config.delete', { path, max: 100 })).envelope.ok).toBe(true);
    expect(simulator.requests.filter(({ headers }) => headers['if-match'] !== undefined)).toEqual([]);
  });

  it('an appliance that sends a new ETag in each response refuses only the first write that follows a single read', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { etags: true, etagPerResponse: true } });
    const input = { ...USER, more: { fullname: 'New', enabled: 'false' } };
    const error = await expectFailure(gateway.run('users.update', input));
    expect(error).toMatchObject({ code: 'CONFLICT', details: { status: 412 }, cause: { changed: false } });
    expect(error.message).toContain('nobody has changed the resource');
    expect((await gateway.run('users.update', input)).envelope.ok).toBe(true);
    expect(listWriteLines(simulator)).toHaveLength(2);
  });

  it('a write that is refused because of a real change keeps the ETags of the appliance in use', async () => {
    const { gateway, setByOther, role, listTags } = await startTagged();
    for (let times = 0; times < 2; times++) {
      role.values.set('description', 'earlier');
      const run = gateway.run('config.delete', { path: ROLE, max: 100 }, { beforeWrite: setByOther });
      expect((await expectFailure(run)).message).toContain('Somebody else has changed the resource');
    }
    expect(listTags()).toEqual([expect.any(String), expect.any(String)]);
  });
});

describe('EntityTags', () => {
  const read = { method: 'GET', path: '/api/v1/configuration/users/x/' } as const;
  const write = { method: 'PUT', path: '/api/v1/configuration/users/x' } as const;

  it('the ETag of the last read is kept until a write at, above or below its path', () => {
    const tags = new EntityTags(new EntityTagSupport());
    const body = new ResponseBody();
    const record = (etag: string | undefined, status = 200): unknown => {
      tags.recordRead(read, { status, body, ...(etag !== undefined && { etag }) });
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
