import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import helper from 'node-red-node-test-helper';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { forgetTests } from '../nodes/guesses';
import { forgetGateways } from '../nodes/inventory';
import { startSimulatedFleet, type SimulatedFleet } from '../src/simulator';
import { Rig, type Definition } from './support/node-red';
import { temporaryFolder } from './support/temporary';

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
describe('a test of all appliances', () => {
  const rig = new Rig('node-red');
  let fleet: SimulatedFleet;
  beforeAll(async () => {
    await rig.start();
    fleet = await startSimulatedFleet(2, { password: PASSWORD });
  });
  afterEach(async () => {
    forgetTests();
    forgetGateways();
    await rig.reset();
    for (const appliance of fleet.appliances) appliance.requests.length = 0;
  });
  afterAll(async () => {
    await fleet.close();
    await rig.stop();
  });

  const list = (count: number, more: object = {}): string =>
    JSON.stringify(fleet.entries.slice(0, count).map((one) => ({ ...one, ...more })));
  const dialog = (more: object = {}): Definition => ({
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

  async function ask(body: Definition): Promise<Answer> {
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

  it('takes what stands in a dialog that is not deployed', async () => {
    await rig.deploy({ nodes: [], credentials: { tls1: { cadata: fleet.ca } } });
    const answer = await ask(dialog({ id: 'new', list: list(2), credentials: TYPED }));
    expect(answer).toMatchObject({ ok: true, well: 2 });
    expect(await ask(dialog({ id: 'new', list: '[{ "name": "a" }]', credentials: TYPED }))).toMatchObject(refused('BAD_CONFIG', /URL|url/));
    expect(await ask(dialog({ id: 'new', list: list(1), credentials: { username: 'api-admin' } }))).toMatchObject({
      rows: [refused('BAD_CONFIG', /has no password\. Enter password of the set default in the dialog/)],
    });
  });

  it('takes what stands there in place of what is deployed, and tells the rest from the deployed one', async () => {
    await deploy({ defaults: '{"realm": "Nobody"}' });
    expect(await ask(dialog(untouched))).toMatchObject({ ok: true, well: 1 });
    expect(await ask({ id: 'inv1' })).toMatchObject({ ok: true, well: 0 });
  });

  it('sends what is stored to the address that it was deployed for, and to no other', async () => {
    await deploy();
    const answer = await ask(dialog({ ...untouched, list: list(2) }));
    expect(answer).toMatchObject({
      well: 1,
      rows: [
        { appliance: 'vpn-002', ...refused() },
        { appliance: 'vpn-001', ok: true },
      ],
    });
    expect(sent()).toEqual([2, 0]);
    expect(await ask(dialog({ list: list(2), credentials: TYPED }))).toMatchObject({ well: 2 });
  });

  it('sends it to no address of another set, whatever the sets are called now', async () => {
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

  it('sends it through no proxy that is not deployed', async () => {
    await deploy();
    const proxy = { id: 'p9', type: 'http proxy', url: 'http://127.0.0.1:1', noproxy: [] };
    const answer = await ask(dialog({ ...untouched, proxy: 'p9', nodes: { proxy } }));
    expect(answer.rows).toMatchObject([refused()]);
    expect(await ask(dialog({ ...untouched, proxy: 'p9' }))).toMatchObject({
      rows: [refused('BAD_CONFIG', /proxy .* missing or disabled/)],
    });
    expect(sent()).toEqual([0, 0]);
  });

  describe('of variables', () => {
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

    it('takes the value that the deployed node has, for its addresses alone', async () => {
      await deploy({}, { username: 'api-admin', password: VARIABLE });
      expect(await ask(dialog({ ...variable, list: list(2) }))).toMatchObject({ well: 1, rows: [refused(), { ok: true }] });
      await helper.unload();
      await deploy({ defaults: '${GATEWAY_DRAFT_DEFAULTS}' });
      const answer = await ask(dialog({ defaults: '${GATEWAY_DRAFT_DEFAULTS}', list: list(2), credentials: TYPED }));
      expect(answer).toMatchObject({ well: 1, rows: [refused('BAD_CONFIG', /environment variable/), { ok: true }] });
      expect(sent()[1]).toBe(0);
    });

    it('reads none that is not deployed so', async () => {
      await deploy();
      expect((await ask(dialog(variable))).rows).toMatchObject([refused('BAD_CONFIG', /environment variable/)]);
      for (const property of ['list', 'defaults', 'sets', 'file'])
        expect(await ask(dialog({ ...untouched, [property]: VARIABLE }))).toMatchObject(refused('BAD_CONFIG', /environment variable/));
      expect(sent()).toEqual([0, 0]);
    });

    it('takes secrets from the environment as that is deployed, for the deployed addresses alone', async () => {
      const environment = { secrets: 'environment', prefix: 'DRAFT' };
      await deploy(environment, {});
      expect(await ask(dialog({ ...environment, list: list(2) }))).toMatchObject({ well: 1, rows: [refused(), { ok: true }] });
      expect(await ask(dialog({ ...environment, prefix: 'GATEWAY_DRAFT' }))).toMatchObject(refused('BAD_CONFIG', /deploy/));
      expect(await ask(dialog({ ...environment, id: 'new' }))).toMatchObject(refused('BAD_CONFIG', /deploy/));
      expect(sent()[1]).toBe(0);
    });
  });

  it('reads files and folders as they are deployed, and no other', async () => {
    const folder = temporaryFolder();
    const [file, other] = [join(folder, 'ours.json'), join(folder, 'other.json')];
    writeFileSync(file, list(1));
    writeFileSync(other, list(1));
    await deploy({ source: 'file', file });
    expect(await ask(dialog({ ...untouched, source: 'file', file }))).toMatchObject({ well: 1 });
    expect(await ask(dialog({ ...untouched, source: 'file', file: other }))).toMatchObject(refused('BAD_CONFIG', /deploy/));
    expect(await ask(dialog({ ...untouched, secrets: 'folder', secretsFolder: folder }))).toMatchObject(refused('BAD_CONFIG', /deploy/));
  });

  it('is no way to try passwords', async () => {
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

  it('is no way to try one password in many realms, typed or stored', async () => {
    await deploy();
    const realms = JSON.stringify(
      ['Admin Users', 'one', 'two', 'three'].map((realm) => ({ ...fleet.entries[0], name: `of ${realm}`, realm })),
    );
    for (const credentials of [untouched.credentials, { ...TYPED, username: 'another' }]) {
      const { rows = [] } = await ask(dialog({ list: realms, credentials }));
      expect(rows.find(({ appliance }) => appliance === 'of three')).toMatchObject(refused('BAD_CONFIG', /different logins/));
      expect(rows.filter(({ code }) => code === 'LOGIN_REJECTED').length).toBeGreaterThanOrEqual(2);
      forgetTests();
    }
  });
});
