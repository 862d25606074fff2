import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { root } from '../../scripts/tools.mjs';
import { operations } from '../../src/areas';
import { Gateway } from '../../src/gateway/gateway';
import type { Settings } from '../../src/model/settings';
import { startRowAppliance, type Seen } from './coverage/appliance';
import { withoutLoginProof, type AnyGateway } from '../helpers/simulated-appliance';
import { rows, type Row } from './coverage/rows';

let appliance: Awaited<ReturnType<typeof startRowAppliance>>;
let gateway: AnyGateway;
/** The folder of backups. */
const folder = mkdtempSync(join(tmpdir(), 'gateway-'));

beforeAll(async () => {
  appliance = await startRowAppliance();
});
afterAll(() => {
  rmSync(folder, { recursive: true });
  return appliance.close();
});
beforeEach(() => {
  gateway = new Gateway({ url: appliance.url, realm: 'Admin Users', username: 'admin', password: 'p' });
  appliance.seen.length = 0;
  appliance.answerWith(undefined);
});

/** Inputs beside the example that an operation needs to show all of its rows. */
const further: Readonly<Record<string, Record<string, unknown>[]>> = {
  'system.health': [{}, { status: 'sbr' }],
  'system.metrics': [{}],
  'system.esap-packages': [{}, { 'exclude-packages': true }, { expand: true, 'exclude-packages': true }],
  'sessions.list': [{ name: 'j.doe' }],
  'license.list-named-users': [{}],
  'license.remove-named-users': [{ users: ['j.doe'], 'client-kind': 'gateway' }],
  'license.remove-all-named-users': [{ 'delete-active-sessions': false }],
  'users.update': [{ server: 's', username: 'j.doe', fullname: 'Jane', enabled: false }],
  'config.get': [{ path: 'users/user-roles', query: { expand: true, key: 'a b' } }],
  'groups.list': [{ server: 'd', directory: 'ldap' }],
  'groups.add': [{ server: 'd', directory: 'ldap', groups: { dn: 'cn=b,dc=b', name: 'b', 'group-type': 'static' } }],
  'groups.remove': [
    { server: 'd', directory: 'ad', groups: ['Staff'] },
    { server: 'd', directory: 'ldap', groups: ['cn=a,dc=b'] },
  ],
  'groups.ensure': [{ server: 'd', directory: 'ldap', groups: { dn: 'cn=b,dc=b', name: 'b', 'group-type': 'static' } }],
  'users.ensure': [{ server: 's', username: 'j.doe', fullname: 'Jane', enabled: false }],
  'config.ensure-all': [{ resources: { path: 'users/user-roles/user-role/Staff', absent: true }, 'allow-absent': true }],
  'groups.replace': [{ server: 'd', directory: 'ldap', groups: { dn: 'cn=a,dc=b' } }],
  'transfer.export-xml': [{}],
  'transfer.export-binary': [{}, { password: 'p' }, { export: 'user_config' }],
  'transfer.import-xml': [{ xml: '<configuration/>', password: `q"uo'te & <ü>` }],
  'transfer.import-binary': [{ data: 'UEsD\nBA==\n' }, { data: Buffer.from('UEsDBA=='), import: 'full' }],
  'backup.run': [{ folder, what: 'both' }],
  'backup.restore': [{ folder, backup: 'latest', kind: 'binary', import: 'full' }],
  'contain.contain': [{ name: 'j.doe', servers: ['s'] }],
  'groups.clear': [{ server: 'd', directory: 'ldap' }],
};

/** Operations that read a local folder and send no request. */
const LOCAL = ['backup.list', 'backup.verify', 'contain.list', 'journal.list', 'journal.verify'];
/** A conformance check sends what it should not (test/unit/conformance). A handshake is no request, what an undo sends is what its entry tells (test/unit/change/undo.test.ts), a release what was contained. */
const OTHERS = ['certificates.served', 'system.conformance', 'contain.release', 'journal.undo'];
const registered = [...operations].filter(([name]) => !name.startsWith('login.') && ![...LOCAL, ...OTHERS].includes(name));

async function requestsOf(name: string, example: Record<string, unknown>): Promise<Seen[]> {
  const input = withoutLoginProof(name, 'folder' in example ? { ...example, folder } : example);
  // One appliance must have both kinds.
  if (name === 'backup.restore') await gateway.run('backup.run', { folder, what: 'both' });
  if (name === 'snapshot.revert') await gateway.run('snapshot.take', { folder, path: input['path'] });
  appliance.seen.length = 0;
  // The catalog of this appliance never changes, so the read-back of add and remove complains: what it sent is what counts here.
  await gateway.run(name, input).catch((error: unknown) => {
    if (!/differs from what was written|not as it should be|exists again/.test(String(error))) throw error;
  });
  return appliance.seen.filter(({ request }) => !request.endsWith('/realm_auth'));
}

/** Method and path of every row of the tables in a document, from the heading `from` to the heading `to`. */
function documented(file: string, from: string, to?: string): string[] {
  const [, after = ''] = readFileSync(join(root, 'docs', file), 'utf8').split(`\n## ${from}\n`);
  const [section = ''] = to === undefined ? [after] : after.split(`\n## ${to}\n`);
  const found = [...section.matchAll(/^\| ((?:`[A-Z]+`(?:, )?)+) \| `(\/api\/[^`]+)` \|/gm)];
  return found.flatMap(([, methods = '', path = '']) =>
    methods
      .replaceAll('`', '')
      .split(', ')
      .map((method) => shapeOf(method, path)),
  );
}

/** What an appliance calls `<vendor>` is `acme` here, and the name of a segment does not matter. */
const shapeOf = (method: string, path: string): string =>
  `${method} ${path.replaceAll('<vendor>-enforcer', 'acme-enforcer').replace(/<\w+>/g, '<>')}`;

describe('the rows', () => {
  const typedOff = new Set(rows.map(({ method, path }) => shapeOf(method, path)));
  const inDescription = documented('reference/appliance-api.md', 'Endpoints', 'Authentication');
  const inNotes = documented('reference/field-notes.md', 'Paths beyond the description');

  it('the coverage test finds the tables of requests in the interface description and the field notes', () => {
    expect(inDescription.length).toBeGreaterThan(45);
    expect(inNotes.length).toBeGreaterThan(6);
  });

  it('every request of the interface description has an operation', () => {
    expect(inDescription.filter((shape) => !typedOff.has(shape))).toEqual([]);
  });

  it('the table of requests has no request that the documents do not describe', () => {
    const offered = new Set([...inDescription, ...inNotes]);
    expect([...typedOff].filter((shape) => !offered.has(shape))).toEqual([]);
  });
});

describe('every row', () => {
  it.each(rows.flatMap((row) => row.operations.map((name) => ({ row, name, shown: `${row.method} ${row.path}` }))))(
    '$shown has $name',
    ({ name }) => {
      expect([...operations.keys()]).toContain(name);
    },
  );
});

describe.each(registered)('%s', (name, operation) => {
  const inputs = [operation.example.input, ...(further[name] ?? [])];

  it('every operation has a row in the coverage table', () => {
    expect(rows.some((row) => row.operations.includes(name))).toBe(true);
  });

  it('an operation sends exactly the requests that the table lists for it', async () => {
    const used = new Set<Row>();
    for (const input of inputs) {
      for (const { request, row } of await requestsOf(name, input)) {
        expect(row?.operations, `${request} is no row of ${name}`).toContain(name);
        if (row) used.add(row);
      }
    }
    expect([...used].length).toBeGreaterThan(0);
    for (const row of rows.filter((candidate) => candidate.operations.includes(name))) {
      expect(used.has(row), `${row.method} ${row.path} is not used by ${name}`).toBe(true);
    }
  });

  it('an operation accepts every success status that the table lists for its requests', async () => {
    const statuses = new Set(rows.filter((row) => row.operations.includes(name)).flatMap((row) => row.statuses));
    for (const status of statuses) {
      appliance.answerWith(status);
      expect((await requestsOf(name, operation.example.input)).length).toBeGreaterThan(0);
    }
  });
});

describe.each(LOCAL)('%s', (name) => {
  it('a local operation sends no request, not even a login', async () => {
    await gateway.run('backup.run', { folder });
    appliance.seen.length = 0;
    const settings = { url: appliance.url, realm: 'Admin Users', username: 'admin', password: 'p', journal: folder };
    await new Gateway(settings).run(name, name.startsWith('backup.') ? { folder } : {});
    expect(appliance.seen).toEqual([]);
  });
});

describe('the login node', () => {
  const loggedIn = async (settings: Partial<Settings>, ...names: string[]): Promise<string[]> => {
    const one = new Gateway({
      url: appliance.url,
      realm: 'Second Factor',
      secondFactor: 'flow',
      username: 'admin',
      password: 'p',
      ...settings,
    });
    for (const name of names) await one.run(name, name === 'login.resume' ? { code: '123456' } : {});
    expect(appliance.seen.every(({ row }) => row !== undefined)).toBe(true);
    return appliance.seen.map(({ request, body }) => `${request} ${body}`);
  };

  it('the login node sends both steps of the realm login', async () => {
    expect(await loggedIn({}, 'login.login', 'login.resume')).toEqual([
      'POST /api/v1/realm_auth {"realm":"Second Factor"}',
      'POST /api/v1/realm_auth {"resume_id":"r1"}',
    ]);
  });

  it('the login node sends the legacy login', async () => {
    expect(await loggedIn({ login: 'legacy' }, 'login.login')).toEqual(['POST /api/v1/auth ']);
  });

  it('the login node sends no request when it discards the key', async () => {
    expect(await loggedIn({}, 'login.forget')).toEqual([]);
  });
});
