import { describe, expect, it } from 'vitest';
import { UnorderedLists } from '../../../src/change/unordered-lists';
import type { JsonObject } from '../../../src/model/json';
import type { Snapshot } from '../../../src/snapshot/take';
import { httpResponse, startRawServer } from '../../helpers/raw-server';
import { gatewayFor, getThrownError, SYSTEM_INFORMATION_PATH } from '../../helpers/simulated-appliance';
import { CONFIGURATION_PATH, createTemporaryFolder } from '../../helpers/snapshot';
import { startWatch } from '../../helpers/watch';

const PATH = `${CONFIGURATION_PATH}/users/x`;
const UNORDERED = ['roles', '/users/x/deep/rules', 'hosts'];
const DEEP = { rules: [{ name: 'a', hosts: ['1', '2'] }, { name: 'b', on: 'true' }, { port: 20 }, { port: 30 }] };
const START = { roles: ['A', 'B', 'C', 'A'], deep: DEEP, rules: ['first', 'second'] };

/** Rotates every array by the number. */
function rotate(value: unknown, by: number): unknown {
  if (Array.isArray(value)) return value.map((_, index) => rotate(value[(index + by) % value.length], by));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, key === 'order' ? item : rotate(item, by)]));
}

/** An appliance with one resource, whose lists begin elsewhere at each read, except `rules` at the top. */
async function startRotating() {
  let stored: JsonObject = START;
  let reads = 0;
  const bodies: JsonObject[] = [];
  const server = await startRawServer(({ method, path, body }) => {
    if (path === SYSTEM_INFORMATION_PATH) return httpResponse(200, '{"system-information":{"serial-number":"S1"}}');
    if (method === 'PUT') {
      stored = JSON.parse(body) as JsonObject;
      bodies.push(stored);
      return httpResponse(200, '{"result":{}}');
    }
    if (path !== PATH) return httpResponse(path === CONFIGURATION_PATH ? 200 : 404, JSON.stringify({ x: { href: PATH } }));
    return httpResponse(200, JSON.stringify({ ...(rotate(stored, reads++) as object), rules: stored['rules'] }));
  });
  return { gateway: gatewayFor(server), bodies, store: (more: JsonObject) => (stored = { ...stored, ...more }) };
}

describe('lists that an appliance returns in another order each time', () => {
  it('with the option unordered, comparisons, snapshots and watches ignore the order of a list', async () => {
    const { gateway, store } = await startRotating();
    const take = async (input: object): Promise<Snapshot> => (await gateway.run('snapshot.take', { ...input })).data as Snapshot;
    const first = await take({ unordered: UNORDERED });
    expect(first).toMatchObject({
      unordered: [...UNORDERED].sort(),
      resources: { [PATH]: { roles: ['A', 'A', 'B', 'C'], rules: START.rules } },
    });
    expect((await take({ unordered: UNORDERED })).resources).toEqual(first.resources);
    const equal = async (input: object): Promise<unknown> =>
      ((await gateway.run('snapshot.compare', { ...input })).data as { equal: boolean }).equal;
    const plain = await take({});
    // The patterns of the snapshot count, and those of the comparison.
    expect([await equal({ with: first }), await equal({ with: plain, unordered: UNORDERED }), await equal({ with: plain })]).toEqual([
      true,
      true,
      false,
    ]);
    const { watcher, takePayloads } = await startWatch(gateway, { watch: 'configuration', unordered: UNORDERED });
    await watcher.check();
    expect(takePayloads()).toEqual([]);
    store({ roles: ['A', 'B', 'C', 'D'] });
    await watcher.check();
    expect(takePayloads()).toMatchObject([{ changed: [{ path: PATH, field: '/roles', after: ['A', 'B', 'C', 'D'] }] }]);
    expect(await equal({ with: first })).toBe(false);
    store({ roles: START.roles, rules: ['second', 'first'] });
    expect(await equal({ with: first })).toBe(false);
  });

  it('a revert does not write a reordered unordered list, but restores a real difference', async () => {
    const { gateway, bodies, store } = await startRotating();
    const folder = createTemporaryFolder();
    const taken = { folder, unordered: UNORDERED };
    await gateway.run('snapshot.take', taken);
    expect((await gateway.run('snapshot.take', taken)).data).toMatchObject({ added: 0, changed: 0, removed: 0 });
    const revert = () => gateway.run('snapshot.revert', { folder, path: ['users/x'] });
    expect(await revert()).toMatchObject({ envelope: { ok: true, changed: false, diff: [] } });
    expect(bodies).toEqual([]);
    store({ roles: ['B', 'X'], deep: { rules: DEEP.rules.slice(1) } });
    expect(await revert()).toMatchObject({ envelope: { ok: true, changed: true } });
    const lists = new UnorderedLists(UNORDERED);
    expect(bodies.map((body) => lists.sort(PATH, body))).toEqual([lists.sort(PATH, START)]);
    expect(await revert()).toMatchObject({ envelope: { changed: false } });
  });

  it('with the option unordered, ensure does not write a reordered list and adds a missing item once', async () => {
    const { gateway, bodies } = await startRotating();
    const body = { roles: ['C', 'A', 'B', 'A'], deep: { rules: [{ port: '30' }, { name: 'b', on: true }, { port: 20 }, DEEP.rules[0]] } };
    const ensure = { path: 'users/x', body, unordered: UNORDERED };
    expect((await gateway.run('config.ensure', ensure)).envelope).toMatchObject({ changed: false, diff: [] });
    const ensureAll = { resources: [{ path: 'users/x', body }], unordered: UNORDERED };
    expect((await gateway.run('config.ensure-all', ensureAll)).envelope.changed).toBe(false);
    expect(bodies).toEqual([]);
    const more = {
      ...ensure,
      body: {
        roles: ['D', ...body.roles],
        deep: {
          rules: [
            { name: 'b', on: false },
            { name: 'a', hosts: ['2', '1'] },
          ],
        },
      },
    };
    expect((await gateway.run('config.ensure', more)).envelope).toMatchObject({ changed: true });
    expect((await gateway.run('config.ensure', more)).envelope).toMatchObject({ changed: false });
    expect(bodies).toHaveLength(1);
    const [written] = bodies.map((one) => new UnorderedLists(UNORDERED).sort(PATH, one));
    expect(written).toEqual({
      roles: ['A', 'A', 'B', 'C', 'D'],
      deep: {
        rules: [
          { name: 'a', hosts: ['1', '2'] },
          { name: 'b', on: 'false' },
        ],
      },
      rules: START.rules,
    });
  });
});

describe('UnorderedLists', () => {
  it('alignment with the current list restores the order of the items and keeps every changed item', () => {
    const lists = new UnorderedLists(['list']);
    const items = [{ name: 'a', v: 1 }, { name: 'b' }, 'x', 'x', 7, { v: null, w: 2 }, { w: 2 }, { password: 'one' }];
    for (let seed = 1; seed < 200; seed++) {
      const order = (n: number): number => (n * seed * 7919) % 101;
      const shuffled = items
        .map((item, index) => [order(index + 1), item] as const)
        .sort(([a], [b]) => a - b)
        .map(([, item]) => item);
      expect(lists.align(PATH, { list: shuffled }, { list: items })['list']).toHaveLength(items.length);
      expect(lists.sort(PATH, lists.align(PATH, { list: shuffled }, { list: items }))).toEqual(lists.sort(PATH, { list: shuffled }));
      const part = [...shuffled.slice(seed % 8), { name: 'new' }];
      const aligned = lists.align(PATH, { list: part }, { list: items })['list'] as unknown[];
      expect(new Set(aligned)).toEqual(new Set(part));
      expect(aligned).toHaveLength(part.length);
    }
    expect(lists.align(PATH, { list: ['b', 'a'], other: ['b', 'a'] }, { list: ['a', 'b'], other: ['a', 'b'] })).toEqual({
      list: ['a', 'b'],
      other: ['b', 'a'],
    });
  });

  it('the option unordered rejects a pattern that matches every list', () => {
    expect(getThrownError(() => new UnorderedLists(['*']))?.message).toBe(
      'unordered has the entry "*", which matches everything. Enter a field or a path.',
    );
  });
});
