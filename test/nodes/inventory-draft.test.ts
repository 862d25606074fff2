import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import helper from 'node-red-node-test-helper';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { loginAttemptLimit } from '../../nodes/admin/login-attempt-limit';
import { inventoryGatewayRegistry } from '../../nodes/inventory/inventory-node';
import { startSimulatedFleet, type SimulatedFleet } from '../../src/simulator';
import { NodeRedHarness, type NodeDefinition } from '../helpers/node-red';
import { createTemporaryFolder } from '../helpers/temporary';

const PASSWORD = 'planted "pass word" + /1';
const STORED = '__PWRD__';
const TYPED = { username: 'api-admin', password: PASSWORD };

interface Answer {
  readonly ok: boolean;
  readonly code?: string;
  readonly message?: string;
  readonly well?: number;
  readonly rows?: readonly { appliance: string; ok: boolean; code?: string; message?: string }[];
}

// The dialog of an inventory tests what it holds, by the rules of an appliance's own test (nodes-test-button.ts).
describe('the test of all appliances of an inventory', () => {
  const rig = new NodeRedHarness('node-red');
  let fleet: SimulatedFleet;
  beforeAll(async () => {
    await rig.start();
    fleet = await startSimulatedFleet(2, { password: PASSWORD });
  });
  afterEach(async () => {
    loginAttemptLimit.refusedAt = [];
    inventoryGatewayRegistry.close();
    await rig.reset();
    for (const appliance of fleet.appliances) appliance.requests.length = 0;
  });
  afterAll(async () => {
    await fleet.close();
    await rig.stop();
  });

  const list = (count: number, more: object = {}): string =>
    JSON.stringify(fleet.entries.slice(0, count).map((one) => ({ ...one, ...more })));
  const dialog = (more: object = {}): NodeDefinition => ({
    id: 'inv1',
    source: 'list',
    list: list(1),
    defaults: '{"realm": "Admin Users"}',
    secrets: 'node',
    tls: 'tls1',
    ...more,
  });

  /** What is deployed: of the dialog's, with other properties. */
  const deploy = (more: object = {}, stored: Record<string, string> = TYPED): Promise<void> =>
    rig.deploy({
      nodes: [],
      more: [{ type: 'gateway-inventory', name: 'ours', ...dialog(more) }],
      credentials: { tls1: { cadata: fleet.ca }, inv1: stored },
    });

  async function ask(body: NodeDefinition): Promise<Answer> {
    const response = await helper.request().post('/gateway-inventory/test').send(body);
    expect(response.status).toBe(200);
    expect(response.text).not.toContain('planted');
    return response.body as Answer;
  }

  const sent = (): number[] => fleet.appliances.map(({ requests }) => requests.length);
  const untouched = { credentials: { username: 'api-admin', password: STORED } };
  const refused = (code = 'BAD_CONFIG', words = /Type it again/): object => ({
    ok: false,
    code,
    message: expect.stringMatching(words) as string,
  });

  it('the connection test of an inventory uses the settings of a dialog that is not deployed', async () => {
    await rig.deploy({ nodes: [], credentials: { tls1: { cadata: fleet.ca } } });
    const answer = await ask(dialog({ id: 'new', list: list(2), credentials: TYPED }));
    expect(answer).toMatchObject({ ok: true, well: 2 });
    expect(await ask(dialog({ id: 'new', list: '[{ "name": "a" }]', credentials: TYPED }))).toMatchObject(refused('BAD_CONFIG', /URL|url/));
    expect(await ask(dialog({ id: 'new', list: list(1), credentials: { username: 'api-admin' } }))).toMatchObject({
      rows: [refused('BAD_CONFIG', /has no password\. Enter password of the set default in the dialog/)],
    });
    expect(await ask(dialog({ credentials: { username: 'api-admin', password: 12345 } }))).toMatchObject({
      rows: [refused('BAD_CONFIG', /has no password/)],
    });
  });

  it('the test of all appliances uses the changed settings of the dialog, and the deployed settings for everything else', async () => {
    await deploy({ defaults: '{"realm": "Nobody"}' });
    expect(await ask(dialog(untouched))).toMatchObject({ ok: true, well: 1 });
    expect(await ask({ id: 'inv1' })).toMatchObject({ ok: true, well: 0 });
    for (const credentials of [null, 'none', { username: null }])
      expect(await ask(dialog({ credentials }))).toMatchObject({ ok: true, well: 1 });
  });

  it('the connection test of an inventory sends a stored password only to the address that it was deployed for', async () => {
    await deploy();
    const answer = await ask(dialog({ ...untouched, list: list(2) }));
    expect(answer).toMatchObject({
      well: 1,
      rows: [
        { appliance: 'vpn-002', ...refused() },
        { appliance: 'vpn-001', ok: true },
      ],
    });
    // Its name stands beside it.
    expect(answer.rows?.[0]?.message).toMatch(/^The stored credential set/);
    expect(sent()).toEqual([2, 0]);
    expect(await ask(dialog({ list: list(2), credentials: TYPED }))).toMatchObject({ well: 2 });
  });

  it('the test of all appliances does not send a stored password to the address of another credential set, even if sets are renamed', async () => {
    const sets = {
      sets: 'eu us',
      list: JSON.stringify([
        { ...fleet.entries[0], credentials: 'eu' },
        { ...fleet.entries[1], credentials: 'us' },
      ]),
    };
    await deploy(sets, { username_1: 'api-admin', password_1: PASSWORD, username_2: 'api-admin', password_2: PASSWORD });
    const credentials = { username_1: 'api-admin', password_1: STORED, username_2: 'api-admin', password_2: STORED };
    expect(await ask(dialog({ ...sets, credentials }))).toMatchObject({ well: 2 });
    expect(await ask(dialog({ ...sets, sets: 'europe us', list: sets.list.replace('"eu"', '"europe"'), credentials }))).toMatchObject({
      well: 2,
    });
    const before = sent();
    const swapped = await ask(dialog({ ...sets, sets: 'us eu', credentials }));
    expect(swapped.rows).toMatchObject([refused(), refused()]);
    expect(sent()).toEqual(before);
  });

  it('the connection test of an inventory does not send a stored password through an undeployed proxy', async () => {
    await deploy();
    const proxy = { id: 'p9', type: 'http proxy', url: 'http://127.0.0.1:1', noproxy: [] };
    const answer = await ask(dialog({ ...untouched, proxy: 'p9', nodes: { proxy } }));
    expect(answer.rows).toMatchObject([refused()]);
    expect(await ask(dialog({ ...untouched, proxy: 'p9' }))).toMatchObject({
      rows: [refused('BAD_CONFIG', /proxy .* missing or disabled/)],
    });
    expect(sent()).toEqual([0, 0]);
  });

  it('the test of all appliances does not send a stored password through a changed proxy, even if entries name the proxy', async () => {
    const proxy = { id: 'p1', type: 'http proxy', name: 'corporate', url: 'http://127.0.0.1:1', noproxy: [] };
    const named = { list: list(1, { proxy: 'corporate' }) };
    await rig.deploy({
      nodes: [],
      more: [{ type: 'gateway-inventory', name: 'ours', ...dialog(named) }, proxy],
      credentials: { tls1: { cadata: fleet.ca }, inv1: TYPED },
    });
    const changed = { ...proxy, url: 'http://127.0.0.1:2' };
    expect((await ask(dialog({ ...named, ...untouched, nodes: { proxy: changed } }))).rows).toMatchObject([refused()]);
    expect((await ask(dialog({ ...named, ...untouched, nodes: { proxy } }))).rows).toMatchObject([refused('CONNECTION', /proxy/)]);
    const typed = await ask(dialog({ ...named, credentials: TYPED, nodes: { proxy: { ...changed, url: 'no url' } } }));
    expect(typed.rows).toMatchObject([refused('BAD_CONFIG', /no usable URL/)]);
  });

  it('the connection test of an inventory protects every stored secret, not only the password', async () => {
    const other = await startSimulatedFleet(1, { password: PASSWORD, secondFactor: { password: 'planted second' } });
    try {
      await deploy({}, { ...TYPED, secondUsername: 'stored-name', secondPassword: 'planted second' });
      const there = { list: JSON.stringify(other.entries), defaults: '{"realm": "Admin Users", "secondFactor": "password"}', tls: 'tls2' };
      const typed = { ...TYPED, secondUsername: undefined, secondPassword: STORED };
      const nodes = { tls: { id: 'tls2', credentials: { cadata: other.ca } } };
      expect((await ask(dialog({ ...there, nodes, credentials: typed }))).rows).toMatchObject([refused()]);
      expect(other.appliances[0]?.requests).toEqual([]);
      await ask(dialog({ ...there, nodes, credentials: { ...typed, secondPassword: 'planted second' } }));
      const users = other.appliances[0]?.requests.map(
        ({ headers }) => atob(String(headers.authorization).slice('Basic '.length)).split(':')[0],
      );
      expect(users?.slice(0, 2)).toEqual(['api-admin', 'api-admin']);
    } finally {
      await other.close();
    }
  });

  it('the connection test of an inventory redacts secrets that an appliance repeats', async () => {
    await deploy();
    const said = { 'system-information': { 'host-name': PASSWORD, 'serial-number': encodeURIComponent(PASSWORD), 'os-version': '1' } };
    const [appliance] = fleet.appliances;
    appliance?.fault({ match: ({ path }) => path.includes('system-information'), status: 200, body: JSON.stringify(said) });
    const answer = await ask(dialog(untouched));
    expect(answer).toMatchObject({ well: 1, rows: [{ ok: true, system: { release: '1' } }] });
    expect(JSON.stringify(answer)).not.toContain(PASSWORD);
    appliance?.clearFaults();
  });

  describe('with variables', () => {
    const VARIABLE = '${GATEWAY_DRAFT_VALUE}';
    const variable = { credentials: { username: 'api-admin', password: VARIABLE } };
    beforeAll(() => {
      Object.assign(process.env, {
        GATEWAY_DRAFT_VALUE: PASSWORD,
        GATEWAY_DRAFT_DEFAULTS: '{"realm": "Admin Users"}',
        DRAFT_DEFAULT_USERNAME: 'api-admin',
        DRAFT_DEFAULT_PASSWORD: PASSWORD,
      });
    });

    it('the connection test of an inventory resolves environment variables only for deployed addresses', async () => {
      await deploy({}, { username: 'api-admin', password: VARIABLE });
      expect(await ask(dialog({ ...variable, list: list(2) }))).toMatchObject({ well: 1, rows: [refused(), { ok: true }] });
      await helper.unload();
      await deploy({ defaults: '${GATEWAY_DRAFT_DEFAULTS}' });
      const answer = await ask(dialog({ defaults: '${GATEWAY_DRAFT_DEFAULTS}', list: list(2), credentials: TYPED }));
      expect(answer).toMatchObject({ well: 1, rows: [refused('BAD_CONFIG', /environment variable/), { ok: true }] });
      expect(sent()[1]).toBe(0);
    });

    it('the connection test of an inventory reads no environment variable whose name is not deployed', async () => {
      await deploy();
      expect((await ask(dialog(variable))).rows).toMatchObject([refused('BAD_CONFIG', /environment variable/)]);
      for (const property of ['list', 'defaults', 'sets', 'file'])
        expect(await ask(dialog({ ...untouched, [property]: VARIABLE }))).toMatchObject(refused('BAD_CONFIG', /environment variable/));
      expect(sent()).toEqual([0, 0]);
    });

    it('the connection test reads secrets with the deployed environment prefix only for the deployed addresses', async () => {
      const environment = { secrets: 'environment', prefix: 'DRAFT' };
      await deploy(environment, {});
      expect(await ask(dialog({ ...environment, list: list(2) }))).toMatchObject({ well: 1, rows: [refused(), { ok: true }] });
      expect(await ask(dialog({ ...environment, prefix: 'GATEWAY_DRAFT' }))).toMatchObject(refused('BAD_CONFIG', /deploy/));
      expect(await ask(dialog({ ...environment, id: 'new' }))).toMatchObject(refused('BAD_CONFIG', /deploy/));
      expect(await ask(dialog({ ...environment, list: list(1, { credentials: 'none' }) }))).toMatchObject({
        rows: [refused('BAD_CONFIG', /Set the environment variable DRAFT_NONE_USERNAME/)],
      });
      // What another place keeps is not stored in this one.
      expect(await ask(dialog(untouched))).toMatchObject({ rows: [refused('BAD_CONFIG', /has no password/)] });
      expect(sent()[1]).toBe(0);
    });
  });

  it('the connection test of an inventory reads files and folders only as they are deployed', async () => {
    const folder = createTemporaryFolder();
    const [file, other] = [join(folder, 'ours.json'), join(folder, 'other.json')];
    writeFileSync(file, list(1));
    writeFileSync(other, list(1));
    await deploy({ source: 'file', file });
    expect(await ask(dialog({ ...untouched, source: 'file', file }))).toMatchObject({ well: 1 });
    expect(await ask(dialog({ ...untouched, source: 'file', file: other }))).toMatchObject(refused('BAD_CONFIG', /deploy/));
    await helper.unload();
    await deploy({ source: 'list', file });
    expect(await ask(dialog({ ...untouched, source: 'file', file }))).toMatchObject(refused('BAD_CONFIG', /deploy/));
    expect(await ask(dialog({ ...untouched, secrets: 'folder', secretsFolder: folder }))).toMatchObject(refused('BAD_CONFIG', /deploy/));
  });

  it('the connection test of an inventory limits password guesses', async () => {
    await deploy();
    const four = {
      sets: 'a b c',
      list: JSON.stringify(
        ['', 'a', 'b', 'c'].map((credentials, index) => ({
          ...fleet.entries[0],
          name: `vpn-${index}`,
          // The same address, however it is written.
          url: `${fleet.appliances[0]!.url}${'/'.repeat(index)}`,
          credentials,
        })),
      ),
    };
    const wrong = Object.fromEntries(
      ['', '_1', '_2', '_3'].flatMap((set) => [
        [`username${set}`, 'api-admin'],
        [`password${set}`, `planted wrong${set}`],
      ]),
    );
    const answer = await ask(dialog({ ...four, credentials: wrong }));
    expect(answer.rows?.map(({ code }) => code)).toEqual(['LOGIN_REJECTED', 'LOGIN_REJECTED', 'LOGIN_REJECTED', 'BAD_CONFIG']);
    const before = sent();
    expect(await ask(dialog({ credentials: TYPED }))).toMatchObject({ ok: false, code: 'LOGIN_PAUSED' });
    expect(sent()).toEqual(before);
  });

  it('the connection test of an inventory reports an error in the defaults', async () => {
    const proxies = ['p1', 'p2'].map((id) => ({ id, type: 'http proxy', name: 'twice', url: 'http://127.0.0.1:1', noproxy: [] }));
    // An id goes before a name.
    const named = { id: 'p0', type: 'http proxy', name: 'p1', url: 'no url', noproxy: [] };
    const file = join(createTemporaryFolder(), 'large.json');
    writeFileSync(file, '');
    truncateSync(file, 16 * 2 ** 20 + 1);
    const common = { source: 'file', file };
    await rig.deploy({
      nodes: [],
      more: [{ type: 'gateway-inventory', name: 'ours', ...dialog(common) }, named, ...proxies],
      credentials: {},
    });
    expect(await ask(dialog(common))).toMatchObject(refused('BAD_CONFIG', /larger than 16 MiB/));
    expect(await ask(dialog({ defaults: '[]' }))).toMatchObject(refused('BAD_CONFIG', /must be an object of properties/));
    expect(await ask(dialog({ sets: 'a b c d e f g h' }))).toMatchObject(refused('BAD_CONFIG', /at most 7 credential sets/));
    const [row] = (await ask(dialog({ list: list(1, { proxy: 'twice' }), credentials: TYPED }))).rows ?? [];
    expect(row).toMatchObject(refused('BAD_CONFIG', /Two nodes of type http proxy have the name twice/));
    const [own] = (await ask(dialog({ list: list(1, { proxy: 'p1' }), credentials: TYPED }))).rows ?? [];
    expect(own).toMatchObject(refused('CONNECTION', /proxy/));
  });

  it('the connection test of an inventory does not pause because several addresses reject the credentials', async () => {
    await deploy();
    const two = JSON.stringify(
      fleet.entries.flatMap((one) => ['', 'a'].map((credentials) => ({ ...one, name: one.name + credentials, credentials }))),
    );
    const credentials = { username: 'one', password: 'planted 1', username_1: 'two', password_1: 'planted 2' };
    const { rows } = await ask(dialog({ sets: 'a', list: two, credentials }));
    expect(rows?.map(({ code }) => code)).toEqual(Array<string>(4).fill('LOGIN_REJECTED'));
    expect(await ask(dialog(untouched))).toMatchObject({ ok: true, well: 1 });
  });

  it('the connection test of an inventory limits password guesses also if the appliance answers wrong credentials with 403', async () => {
    await deploy();
    const [appliance] = fleet.appliances;
    appliance?.fault({ match: ({ path }) => path.includes('realm_auth'), status: 403, body: '{}', times: Infinity });
    const three = JSON.stringify(['', 'a', 'b'].map((credentials) => ({ ...fleet.entries[0], name: `vpn-${credentials}`, credentials })));
    const credentials = { ...TYPED, username_1: 'one', password_1: 'planted 1', username_2: 'two', password_2: 'planted 2' };
    const { rows } = await ask(dialog({ sets: 'a b', list: three, credentials }));
    expect(rows?.map(({ code }) => code)).toEqual(['FORBIDDEN', 'FORBIDDEN', 'FORBIDDEN']);
    appliance?.clearFaults();
    expect(await ask(dialog({ credentials: TYPED }))).toMatchObject({ ok: false, code: 'LOGIN_PAUSED' });
  });

  it('the connection test of an inventory limits guesses of one password in many realms, whether the password is typed or stored', async () => {
    await deploy();
    const realms = JSON.stringify(
      ['Admin Users', 'one', 'two', 'three'].map((realm) => ({ ...fleet.entries[0], name: `of ${realm}`, realm })),
    );
    for (const credentials of [untouched.credentials, { ...TYPED, username: 'another' }]) {
      const { rows = [] } = await ask(dialog({ list: realms, credentials }));
      expect(rows.find(({ appliance }) => appliance === 'of three')).toMatchObject(refused('BAD_CONFIG', /different logins/));
      expect(rows.filter(({ code }) => code === 'LOGIN_REJECTED').length).toBeGreaterThanOrEqual(2);
      loginAttemptLimit.refusedAt = [];
    }
  });
});
