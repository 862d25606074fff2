import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { credentialsFromEnvironment, credentialsFromFolder, Inventory, type CredentialSource, type Settings } from '../../../src';
import { detectInventoryFormat, GatewayRegistry, type InventoryFormat } from '../../../src/inventory';
import { startSimulatedFleet, type SimulatedFleet } from '../../../src/simulator';
import { expectFailure, getThrownError } from '../../helpers/simulated-appliance';
import { eventually } from '../../helpers/eventually';

const entry = { name: 'vpn-1', url: 'https://vpn-1.example.com' };
const defaults = { realm: 'Admin Users' };

async function read(text: string, format: InventoryFormat, more: Record<string, unknown> = defaults): Promise<Inventory> {
  const inventory = new Inventory({ defaults: more });
  await inventory.read(text, format);
  return inventory;
}

/** The error message for an invalid text. */
async function refusal(text: string, format: InventoryFormat): Promise<string> {
  const error = await read(text, format).then(
    () => ({ code: 'none', message: '' }),
    (thrown: { code: string; message: string }) => thrown,
  );
  expect(error.code).toBe('BAD_CONFIG');
  return error.message;
}

describe('Inventory.read', () => {
  const list = [
    { name: 'vpn-1', url: 'https://a.example.com', tags: ['eu', 'prod'], timeout: 10 },
    { name: '007', url: 'https://b.example.com:8443/x', credentials: 'lab' },
  ];
  const yaml = `
# Our appliances
- name: vpn-1
  url: https://a.example.com
  tags: [eu, prod]
  timeout: 10
- name: 007
  url: https://b.example.com:8443/x
  credentials: lab
`;
  const csv =
    '\ufeffname;url;tags;timeout;credentials\r\n# ours\r\nvpn-1;https://a.example.com;eu prod;10;\r\n\r\n007;https://b.example.com:8443/x;;;lab\r\n';
  it.each([
    ['json', JSON.stringify(list)],
    ['yaml', yaml],
    ['yaml', JSON.stringify(list)],
    ['csv', csv],
    ['csv', 'name,url,tags\nvpn-1,https://a.example.com,"eu,prod"\n007,https://b.example.com:8443/x,""\n'],
    ['csv', 'name\turl\ttags\nvpn-1\thttps://a.example.com\teu;prod\n007\thttps://b.example.com:8443/x\t\n'],
  ] as const)('Inventory.read reads %s', async (format, text) => {
    const { appliances, size } = await read(text, format);
    expect(size).toBe(2);
    expect(appliances.map(({ name, url, tags }) => ({ name, url, tags }))).toEqual([
      { name: 'vpn-1', url: 'https://a.example.com', tags: ['eu', 'prod'] },
      { name: '007', url: 'https://b.example.com:8443/x', tags: [] },
    ]);
  });

  it('Inventory.read reads YAML aliases and merge keys', async () => {
    const { appliances } = await read('- &eu { name: a, url: "https://a", tags: eu }\n- { <<: *eu, name: b }\n', 'yaml');
    expect(appliances.map(({ name, url, tags }) => [name, url, tags])).toEqual([
      ['a', 'https://a', ['eu']],
      ['b', 'https://a', ['eu']],
    ]);
  });

  it('Inventory.read detects the format by the extension of the file name', () => {
    expect(['a.json', 'b.YAML', 'c.yml', 'd.csv'].map(detectInventoryFormat)).toEqual(['json', 'yaml', 'yaml', 'csv']);
    expect(() => detectInventoryFormat('e.xlsx')).toThrow('must end in');
  });

  it('Inventory.read accepts an empty list', async () => {
    for (const [text, format] of [
      ['[]', 'json'],
      ['', 'yaml'],
      ['name,url\n', 'csv'],
      ['', 'csv'],
    ] as const)
      expect((await read(text, format)).size).toBe(0);
  });

  it('Inventory.read loads a thousand appliances in any format without creating a gateway', async () => {
    const many = Array.from({ length: 1000 }, (_, n) => ({ name: `vpn-${n}`, url: `https://vpn-${n}.example.com`, tags: ['eu'] }));
    const rows = many.map(({ name, url }) => `${name},${url},eu`).join('\n');
    for (const [text, format] of [
      [JSON.stringify(many), 'json'],
      [JSON.stringify(many, null, 2), 'yaml'],
      [`name,url,tags\n${rows}`, 'csv'],
    ] as const) {
      const gateways = new GatewayRegistry();
      const inventory = new Inventory({ defaults, gateways });
      await inventory.read(text, format);
      expect([inventory.size, gateways.size, inventory.select('vpn-99*').length]).toEqual([1000, 0, 11]);
    }
  });
});

describe('a fault in an inventory', () => {
  const two = (second: string): string => `name,url,realm,tags,credentials\nvpn-1,https://a,R,,\n${second}\n`;
  it.each<[string, InventoryFormat, string, RegExp]>([
    ['invalid JSON', 'json', '[\n {"name": "a"\n "url": 1}\n]', /line 3, column 2: it is not valid JSON/],
    ['an object in place of a list', 'json', '{"name": "a"}', /a list of appliances; an object/],
    ['invalid YAML', 'yaml', '- name: a\n  url: "x\n', /line \d, column \d: it is not valid YAML/],
    ['a missing address', 'json', '[\n{"name": "a", "url": "https://a"},\n{"name": "b"}\n]', /line 3 \(b\): url is missing/],
    ['a missing address in YAML', 'yaml', '- name: a\n  url: https://a\n\n- name: b\n', /line 4 \(b\): url is missing/],
    ['an empty address cell', 'csv', two('vpn-2,,R,,'), /line 3 \(vpn-2\): url is missing/],
    ['a missing name', 'csv', two(',https://b,R,,'), /line 3: name: it is missing/],
    ['a repeated name', 'csv', two('vpn-1,https://b,R,,'), /line 3 \(vpn-1\): name: entry 1 has the same name/],
    ['a row after a cell with two lines', 'csv', two('"vpn\n-2",https://b,R,,').concat('vpn-3,,R,,\n'), /line 3 .*line 5 \(vpn-3\): url/],
    ['missing cells', 'csv', two('vpn-2,https://b'), /line 3: it has 2 cells, and the first line has 5/],
    ['an open quotation mark', 'csv', two('"vpn-2,https://b,R,,'), /line 3: a quotation mark/],
    ['a repeated column', 'csv', 'name,url,url\n', /line 1: two columns/],
    ['an unknown property', 'json', '[{"name": "a", "url": "https://a", "relm": "x"}]', /line 1 \(a\): relm: unknown property/],
    ['an unknown login', 'json', '[{"name": "a", "url": "https://a", "login": "x"}]', /login is "x"/],
    ['a text in place of a number', 'csv', 'name,url,timeout\na,https://a,soon\n', /line 2 \(a\): timeout must be a number/],
    ['a list in place of a text', 'json', '[{"name": "a", "url": "https://a", "realm": ["x"]}]', /realm: it must be a text/],
    ['an http address', 'json', '[{"name": "a", "url": "http://a.example.com"}]', /url begins with http:/],
    ['a name with a special character', 'json', '[{"name": "a*", "url": "https://a"}]', /name: it must not contain/],
    [
      'a path in place of a credential set',
      'json',
      '[{"name": "a", "url": "https://a", "credentials": "../x"}]',
      /credentials: it must be/,
    ],
    ['a text in place of an appliance', 'json', '["a"]', /line 1: it is not an appliance/],
  ])('a fault in an inventory is reported with line and field: %s', async (_what, format, text, said) => {
    expect(await refusal(text, format)).toMatch(said);
  });

  it.each(['password', 'totpSecret', 'apiKey', 'username', 'secondPassword', 'Password', 'shared-secret', 'token'])(
    'a fault in an inventory is reported for a secret without showing the secret: %s',
    async (name) => {
      for (const [text, format] of [
        [JSON.stringify([{ ...entry, [name]: 'planted-secret' }]), 'json'],
        [`- name: a\n  url: https://a\n  ${name}: planted-secret\n`, 'yaml'],
        [`name,url,${name}\na,https://a,planted-secret\n`, 'csv'],
      ] as const) {
        const message = await refusal(text, format);
        expect(message).toContain(`${name}: it belongs in a credential set`);
        expect(message).not.toContain('planted');
      }
    },
  );

  it('a fault in an inventory is reported without quoting the file, even if a value is malformed', async () => {
    for (const value of ['*planted-secret', '"planted-secret', '@planted-secret', '[planted-secret', '{planted-secret: }}'])
      expect(await refusal(`- name: a\n  password: ${value}\n  url: https://a\n`, 'yaml')).not.toContain('planted');
    expect(await refusal('[{"password": planted-secret}]', 'json')).not.toContain('planted');
  });

  it('a fault in an inventory is reported for the first five entries, with the number of further entries', async () => {
    expect(await refusal(JSON.stringify(Array.from({ length: 9 }, () => ({ url: 'https://a' }))), 'json')).toMatch(/And 4 more\.$/);
  });

  it('a fault in an inventory is reported for defaults', () => {
    expect(() => new Inventory({ defaults: { relm: 'x' } })).toThrow('relm: unknown property');
    expect(() => new Inventory({ defaults: { password: 'planted-secret' } })).toThrow(/password: it belongs in a credential set/);
  });

  it('a fault in an inventory leaves the loaded appliances unchanged', async () => {
    const inventory = await read(JSON.stringify([entry]), 'json');
    await expect(inventory.read(JSON.stringify([entry, { name: 'b' }]), 'json')).rejects.toMatchObject({ code: 'BAD_CONFIG' });
    expect(inventory.appliances.map(({ name }) => name)).toEqual(['vpn-1']);
  });

  it('a fault in a large inventory is found in linear time', async () => {
    const nested = `${'- '.repeat(5000)}x`;
    await expect(read(nested, 'yaml')).rejects.toMatchObject({ code: 'BAD_CONFIG' });
    const laughs = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...'bcdefghi'.split('').map((name, n) => `${name}: &${name} [${`*${'abcdefgh'[n] ?? ''},`.repeat(9)}]`),
    ];
    await expect(read(`- {${laughs.join(', ')}}`, 'yaml')).rejects.toMatchObject({ code: 'BAD_CONFIG' });
  });
});

describe('Inventory.select', () => {
  const appliances = [
    { name: 'berlin-1', tags: ['eu', 'prod'] },
    { name: 'berlin-2', tags: ['eu', 'lab'] },
    { name: 'boston-1', tags: ['us', 'prod'] },
    { name: 'new york', tags: [] },
    { name: 'host:8443', tags: ['eu'] },
  ];
  const inventory = new Inventory({ defaults });
  beforeAll(() => inventory.loadEntries(appliances.map((one) => ({ ...one, url: 'https://a' }))));

  it.each([
    ['*', 'berlin-1 berlin-2 boston-1 new york host:8443'],
    ['berlin-*', 'berlin-1 berlin-2'],
    ['b*-1', 'berlin-1 boston-1'],
    ['boston-1', 'boston-1'],
    ['Boston-1', ''],
    ['tag:eu', 'berlin-1 berlin-2 host:8443'],
    ['tag:eu !tag:lab', 'berlin-1 host:8443'],
    ['tag:*u* !berlin-2', 'berlin-1 boston-1 host:8443'],
    ['  tag:prod   b*-1 | "new york"', 'berlin-1 boston-1 new york'],
    ['tag:us|tag:lab', 'berlin-2 boston-1'],
    ['"host:8443"', 'host:8443'],
    ['!tag:"eu"', 'boston-1 new york'],
    ['nobody', ''],
  ])('Inventory.select accepts %s', (selection, names) => {
    expect(
      inventory
        .select(selection)
        .map(({ name }) => name)
        .join(' '),
    ).toBe(names);
  });

  it.each(['', '  ', '|', 'a |', '| a', 'a || b', '!', '"a', 'tag:', 'tags:eu', undefined, null, 5, ['a'], 'x'.repeat(10_001)])(
    'Inventory.select rejects %j with BAD_INPUT',
    (selection) => {
      expect(() => inventory.select(selection)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }) as Error);
    },
  );
});

describe('credential sets of an inventory', () => {
  const needed = async (credentials: CredentialSource, set?: string): Promise<string> => {
    const inventory = new Inventory({ defaults, credentials });
    await inventory.loadEntries([{ ...entry, ...(set !== undefined && { credentials: set }) }]);
    try {
      inventory.findAppliance('vpn-1')?.gateway();
      return 'there';
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: 'BAD_CONFIG' });
      return (thrown as Error).message;
    } finally {
      inventory.close();
    }
  };

  it('credential sets of an inventory are read from environment variables', async () => {
    const environment = {
      GATEWAY_DEFAULT_USERNAME: 'a',
      GATEWAY_DEFAULT_PASSWORD: 'b',
      X_EU_1_TOTP_SECRET: 'c',
      X_EU_1_API_KEY: 'd',
      X_EU_1_SECOND_PASSWORD: '',
    };
    expect(credentialsFromEnvironment('X', environment).read('eu-1')).toEqual({ totpSecret: 'c', apiKey: 'd' });
    expect(await needed(credentialsFromEnvironment('GATEWAY', environment))).toBe('there');
    expect(await needed(credentialsFromEnvironment('GATEWAY', environment), 'eu.2')).toBe(
      'vpn-1: there is no credential set eu.2. There are: default. Set the environment variable GATEWAY_EU_2_USERNAME where this process is started.',
    );
  });

  it('credential sets of an inventory are read from a folder', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sets-'));
    mkdirSync(join(folder, 'default'));
    writeFileSync(join(folder, 'default', 'username'), 'a\n');
    expect(await needed(credentialsFromFolder(folder))).toContain(`Put it into the file ${join(folder, 'default', 'password')}.`);
    writeFileSync(join(folder, 'default', 'password'), ' b \r\n');
    expect(credentialsFromFolder(folder).read('default')).toEqual({ username: 'a', password: ' b ' });
    expect(await needed(credentialsFromFolder(folder))).toBe('there');
    mkdirSync(join(folder, 'default', 'totpSecret'));
    expect(await needed(credentialsFromFolder(folder))).toContain('cannot be read from its file (EISDIR)');
    rmSync(folder, { recursive: true });
  });
});

describe('an appliance of an inventory', () => {
  const sets = { default: { username: 'a', password: 'b' }, lab: { apiKey: 'k' } };

  /** An inventory, and the settings of the gateways that it created. */
  async function taking(raw: unknown[], options: ConstructorParameters<typeof Inventory>[0] = {}) {
    const settings: Settings[] = [];
    class Noting extends GatewayRegistry {
      override acquire(given: Settings) {
        settings.push(given);
        return super.acquire(given);
      }
    }
    const gateways = new Noting();
    onTestFinished(() => gateways.close());
    const inventory = new Inventory({ credentials: sets, gateways, ...options });
    await inventory.loadEntries(raw);
    return { inventory, gateways, settings };
  }
  const told = async (properties: object): Promise<string> => {
    const error = await expectFailure(taking([{ ...entry, realm: 'R', ...properties }]));
    expect([error.code, error.details.sent]).toEqual(['BAD_CONFIG', false]);
    return error.message;
  };

  it('an appliance of an inventory has typed settings, and its own values replace the defaults', async () => {
    const properties = { realm: 7, timeout: ' 10 ', connections: 4, dryRun: 'true', log: false, vendor: '5' };
    const { inventory, settings } = await taking([{ ...entry, ...properties }], { defaults: { realm: 'x', brand: 'y', rate: '1.5' } });
    inventory.findAppliance('vpn-1')?.gateway();
    expect(settings).toEqual([
      {
        ...entry,
        ...{ realm: '7', timeout: 10, connections: 4, dryRun: true, log: false, vendor: '5', brand: 'y', rate: 1.5 },
        ...sets.default,
      },
    ]);
  });

  it('an appliance of an inventory with an invalid property is rejected with the name of the property', async () => {
    for (const timeout of ['soon', ' ', '1e999']) expect(await told({ timeout })).toContain('timeout must be a number.');
    for (const dryRun of ['maybe', ' ']) expect(await told({ dryRun })).toContain('dryRun must be true or false.');
    expect(await told({ url: 7 })).toContain('url must be a text such as https://vpn.example.com.');
  });

  it('an appliance of an inventory can be loaded before its credentials exist, for every kind of login', async () => {
    const logins = [{ login: 'key' }, { realm: 'R', secondFactor: 'totp' }, { realm: 'R', secondFactor: 'password' }];
    const { inventory, settings } = await taking(
      logins.map((login, index) => ({ ...login, name: `vpn-${index}`, url: 'https://a', credentials: 'lab' })),
    );
    expect(inventory.appliances.map(({ credentials }) => credentials)).toEqual(['lab', 'lab', 'lab']);
    expect(inventory.findAppliance('vpn-0')?.existingGateway).toBeUndefined();
    const gateway = inventory.findAppliance('vpn-0')?.gateway();
    expect([inventory.findAppliance('vpn-0')?.existingGateway === gateway, settings]).toMatchObject([
      true,
      [{ login: 'key', apiKey: 'k' }],
    ]);
    const missing = getThrownError(() => inventory.findAppliance('vpn-1')?.gateway());
    expect([missing?.message, missing?.details.sent]).toEqual([
      'vpn-1: the credential set lab has no username. Enter username of the set lab in the credentials of the inventory.',
      false,
    ]);
  });

  it('an appliance of an inventory has an empty display address if its url is not a text', async () => {
    const settingsOf = (): Settings => ({ ...entry, realm: 'R', ...sets.default });
    const { inventory } = await taking([{ ...entry, url: 7 }], { toSettings: settingsOf });
    expect(inventory.findAppliance('vpn-1')?.url).toBe('');
  });

  it('an appliance of an inventory keeps its gateway after a reload and reads its credentials only at the first use', async () => {
    const asked: string[] = [];
    let there = true;
    const read = (set: string) => (asked.push(set), there ? sets.default : {});
    const { inventory, gateways } = await taking([{ ...entry, realm: 'R' }], { credentials: { read, describeLocation: () => '' } });
    await inventory.loadEntries([{ ...entry, realm: 'R' }]);
    expect([asked, inventory.findAppliance('vpn-1')?.existingGateway, gateways.size]).toEqual([[], undefined, 0]);
    const gateway = inventory.findAppliance('vpn-1')?.gateway();
    await inventory.loadEntries([
      { ...entry, realm: 'R' },
      { ...entry, name: 'other', realm: 'R' },
    ]);
    expect([
      inventory.findAppliance('vpn-1')?.existingGateway === gateway,
      inventory.findAppliance('other')?.existingGateway,
      gateways.size,
    ]).toEqual([true, undefined, 1]);
    there = false;
    await inventory.loadEntries([{ ...entry, realm: 'R' }]);
    expect(inventory.findAppliance('vpn-1')?.existingGateway).toBeUndefined();
  });
});

describe('allowed hosts of an inventory', () => {
  const credentials = { default: { username: 'a', password: 'b' }, eu: { username: 'c', password: 'd' } };
  const at = (name: string, host: string, set = 'default') => ({ name, url: `https://${host}`, credentials: set, realm: 'R' });

  /** The error of each appliance after the second list; undefined if its gateway can be used. */
  async function load(allowedHosts: string[] | undefined, first: unknown[], second: unknown[]): Promise<(string | undefined)[]> {
    const gateways = new GatewayRegistry();
    onTestFinished(() => gateways.close());
    const inventory = new Inventory({ credentials, gateways, allowedHosts });
    await inventory.loadEntries(first);
    await inventory.loadEntries(second);
    return inventory.appliances.map((appliance) => getThrownError(() => appliance.gateway())?.message);
  }

  it('the allowed hosts of an inventory are those of its first load, for each credential set separately', async () => {
    const first = [at('a', 'vpn.example.com'), at('b', 'eu.example.com:8443', 'eu')];
    const second = [...first, at('c', 'VPN.example.com:443'), at('d', 'vpn.example.com:8443'), at('e', 'vpn.example.com', 'eu')];
    const refused = (name: string, set: string, host: string): string =>
      `${name}: the credential set ${set} was not deployed for the host ${host}. Nothing was sent. If the host is correct, deploy again, or add it to the allowed hosts (allowedHosts).`;
    expect(await load(undefined, first, second)).toEqual([
      ...[undefined, undefined, undefined],
      refused('d', 'default', 'vpn.example.com:8443'),
      refused('e', 'eu', 'vpn.example.com'),
    ]);
  });

  it.each<[string[], boolean[]]>([
    [['*.example.com'], [true, true, true, false]],
    [['*'], [true, true, true, true]],
    [['eu=*.example.com'], [false, false, true, false]],
    [['*.EXAMPLE.com:8443'], [false, true, false, false]],
    [
      ['a.example.com', 'evil.example'],
      [true, false, false, true],
    ],
    [['example.com'], [false, false, false, false]],
  ])('allowed hosts of an inventory also match %j', async (patterns, expected) => {
    const added = [at('a', 'a.example.com'), at('b', 'b.example.com:8443'), at('c', 'c.example.com', 'eu'), at('d', 'evil.example')];
    expect((await load(patterns, [], added)).map((message) => message === undefined)).toEqual(expected);
  });

  it.each(['', 'https://a', 'a b', '=a', 'eu=', 'a=b=c'])('an inventory rejects the allowed host pattern %j', (pattern) => {
    expect(() => new Inventory({ allowedHosts: [pattern] })).toThrow('allowedHosts: ');
  });
});

describe('guards of the defaults of an inventory', () => {
  const load = async (guards: object, values: object): Promise<string> => {
    const inventory = new Inventory({ defaults: { realm: 'R', ...guards }, credentials: {} });
    return inventory.loadEntries([{ name: 'a', url: 'https://a', ...values }]).then(
      () => 'loaded',
      (thrown: Error) => thrown.message,
    );
  };

  it.each<[object, object, boolean]>([
    [{ permissions: 'no-destroy' }, { permissions: 'full' }, false],
    [{ permissions: 'read-only' }, { permissions: 'no-destroy' }, false],
    [{ permissions: 'no-destroy' }, { permissions: 'read-only' }, true],
    [{ permissions: 'no-destroy' }, { permissions: '' }, true],
    [{}, { permissions: 'full' }, true],
    [{ permissions: 'No-Destroy' }, { permissions: 'full' }, false],
    [{ dryRun: 'yes' }, { dryRun: false }, false],
    [{ pin: 'AB12 CD34' }, { pin: 'cd34' }, true],
    [{ pin: 'AB12' }, { pin: 'CD34' }, false],
    [{ pin: 'AB12' }, { pin: 'AB12 CD34' }, false],
    [{ pin: 'AB12' }, { pin: ' ' }, false],
    [{ dryRun: true }, { dryRun: 'false' }, false],
    [{ dryRun: true }, { dryRun: 'true' }, true],
    [{ dryRun: false }, { dryRun: true }, true],
    [{ rate: 5 }, { rate: '6' }, false],
    [{ rate: 5 }, { rate: 4 }, true],
    [{ waiting: 5 }, { waiting: 6 }, false],
    [{ journal: '/var/a' }, { journal: '/var/b' }, false],
    [{ journal: '/var/a' }, { journal: '/var/a' }, true],
    [{ timeout: 5 }, { timeout: 60 }, true],
  ])('guards of the defaults %j with the entry %j: loaded is %s', async (guards, values, isLoaded) => {
    const result = await load(guards, values);
    if (isLoaded) expect(result).toBe('loaded');
    else expect(result).toMatch(/entry 1 \(a\): \w+: the defaults of the inventory set a stricter value/);
  });

  it('an entry of an inventory cannot switch off the certificate verification that the defaults require', async () => {
    const configurations: Record<string, { rejectUnauthorized: boolean }> = {
      on: { rejectUnauthorized: true },
      off: { rejectUnauthorized: false },
    };
    const use = async (defaultTls: string | undefined, tls: string): Promise<string | undefined> => {
      const gateways = new GatewayRegistry();
      onTestFinished(() => gateways.close());
      const inventory = new Inventory({
        ...{
          gateways,
          defaults: { realm: 'R', ...(defaultTls && { tls: defaultTls }) },
          credentials: { default: { username: 'a', password: 'b' } },
        },
        toSettings: ({ tls: name, ...values }, credentials) =>
          ({ ...values, ...credentials, ...(typeof name === 'string' && { tls: configurations[name] }) }) as unknown as Settings,
      });
      await inventory.loadEntries([{ name: 'a', url: 'https://a', tls }]);
      return getThrownError(() => inventory.appliances[0]?.gateway())?.message;
    };
    const refused = 'a: tls: the entry switches off the verification of the certificate, which its inventory requires.';
    expect([await use(undefined, 'off'), await use('on', 'off'), await use('off', 'off'), await use('off', 'on')]).toEqual([
      ...[refused, refused, undefined, undefined],
    ]);
  });
});

describe('GatewayRegistry', () => {
  const settings = { url: 'https://127.0.0.1:1', realm: 'R', username: 'a', password: 'b', tls: { ca: 'x', servername: 'y' } };
  const { url, tls, ...more } = settings;

  it('GatewayRegistry shares a gateway between equal settings, whatever the order of the properties', () => {
    const gateways = new GatewayRegistry();
    onTestFinished(() => gateways.close());
    const { gateway } = gateways.acquire(settings);
    const again = [
      { ...more, tls, url },
      { ...settings, tls: { servername: tls.servername, ca: tls.ca } },
    ].map((one) => gateways.acquire(one));
    expect([again.map((kept) => kept.gateway === gateway), gateways.size]).toEqual([[true, true], 1]);
    expect(gateways.acquire({ ...settings, realm: 'S' }).gateway).not.toBe(gateway);
    expect(gateways.acquire({ ...settings, tls: { ca: 'y', servername: 'x' } }).gateway).not.toBe(gateway);
  });

  it('GatewayRegistry keeps an unused gateway for some time', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const gateways = new GatewayRegistry({}, 1000);
    expect([gateways.acquireExisting(settings), gateways.size]).toEqual([undefined, 0]);
    const [one, two] = [gateways.acquire(settings), gateways.acquire(settings)];
    gateways.release(one);
    vi.advanceTimersByTime(2000);
    expect(gateways.size).toBe(1);
    gateways.release(two);
    vi.advanceTimersByTime(999);
    expect(gateways.acquireExisting(settings)).toBe(one);
    vi.advanceTimersByTime(2000);
    expect(gateways.size).toBe(1);
    gateways.release(one);
    vi.advanceTimersByTime(999);
    expect(gateways.size).toBe(1);
    vi.advanceTimersByTime(1);
    expect(gateways.size).toBe(0);
  });

  it('GatewayRegistry closes all gateways at once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const gateways = new GatewayRegistry();
    const kept = gateways.acquire(settings);
    gateways.release(kept);
    gateways.close();
    expect([gateways.size, vi.getTimerCount()]).toEqual([0, 0]);
    expect((await expectFailure(kept.gateway.run('system.info'))).code).toBe('ABORTED');
  });
});

describe('an unchanged appliance', () => {
  let fleet: SimulatedFleet;
  beforeAll(async () => void (fleet = await startSimulatedFleet(2)));
  afterAll(() => fleet.close());

  const credentials = { default: { username: 'api-admin', password: 'simulator' } };

  it('an unchanged appliance keeps its gateway, API key and connections when another inventory is loaded', async () => {
    const gateways = new GatewayRegistry({}, 50);
    const options = { defaults: { ...defaults, tls: { ca: fleet.ca } }, credentials, gateways };
    const [first, second] = fleet.appliances;
    const before = new Inventory(options);
    await before.loadEntries(fleet.entries);
    await Promise.all(before.appliances.map((appliance) => appliance.gateway().run('system.info')));
    const kept = before.findAppliance('vpn-001')?.gateway();
    const sockets = [first?.totalConnections, second?.totalConnections];

    // A new file changes one appliance.
    await before.loadEntries(fleet.entries.map((one, index) => (index === 1 ? { ...one, timeout: 7 } : one)));
    expect(before.findAppliance('vpn-001')?.gateway()).toBe(kept);
    await before.findAppliance('vpn-001')?.gateway().run('system.info');
    await before.findAppliance('vpn-002')?.gateway().run('system.info');
    expect([first?.totalConnections, first?.logins, second?.logins]).toEqual([sockets[0], 1, 1]);
    expect(second?.totalConnections).toBeGreaterThan(sockets[1] ?? 0);

    // A deploy closes the inventory and creates it again.
    before.close();
    const after = new Inventory(options);
    await after.loadEntries(fleet.entries);
    expect(after.findAppliance('vpn-001')?.gateway()).toBe(kept);
    await kept?.run('system.info');
    expect([first?.totalConnections, first?.logins]).toEqual([sockets[0], 1]);
    after.close();
    await eventually(() => expect(gateways.size).toBe(0));
    await eventually(() => expect([first?.openConnections, second?.openConnections]).toEqual([0, 0]));
  });

  it('an unchanged appliance keeps its gateway open while one of its operations runs', async () => {
    const gateways = new GatewayRegistry({}, 1);
    const inventory = new Inventory({ defaults: { ...defaults, tls: { ca: fleet.ca } }, credentials, gateways });
    await inventory.loadEntries(fleet.entries);
    const [first] = fleet.appliances;
    let answer = (): void => undefined;
    first?.fault({ match: ({ path }) => path.includes('system-information'), until: new Promise<void>((resolve) => (answer = resolve)) });
    const run = inventory.findAppliance('vpn-001')?.gateway().run('system.info');
    await eventually(() => expect(first?.requests.at(-1)?.path).toContain('system-information'));
    inventory.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(gateways.size).toBe(1);
    answer();
    expect((await run)?.envelope.ok).toBe(true);
    await eventually(() => expect(gateways.size).toBe(0));
  });
});
