import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startNodeRed } from '../../scripts/demo/node-red.mjs';
import { node24 } from '../../scripts/node24.mjs';
import type { Area, Field } from '../../src/operation';
import { chromiumPath, Editor, type Entry, type FlowNode } from './editor';
import { trialPackage } from './trial';

const lines: { version: 4 | 5; node: () => string }[] = [
  { version: 4, node: () => process.execPath },
  { version: 5, node: node24 },
];

const APPLIANCE = { id: 'ap1', type: 'gateway-appliance', name: 'vpn-1', url: 'https://vpn.example.com', login: 'realm', realm: 'Admin Users' };
const common = { z: 'f1', name: '', appliance: 'ap1', applianceFrom: '', output: 'payload', failures: 'catch', dryRun: false, allowDestroy: false };

/** A value of each stored type that fits the field. */
function literal(field: Field): Entry {
  if (field.secret) return { type: 'msg', value: 'token' };
  switch (field.kind) {
    case 'number':
      return { type: 'num', value: '7' };
    case 'boolean':
      return { type: 'bool', value: 'false' };
    case 'choice':
      return { type: 'str', value: field.choices?.at(-1) ?? '' };
    case 'object':
      return { type: 'json', value: '{"a":1}' };
    case 'list':
    case 'records':
      return { type: 'json', value: '["a","b"]' };
    case 'text':
    case 'path':
    case 'data':
      return { type: 'str', value: 'a b' };
  }
}

const elsewhere: Entry[] = [
  { type: 'msg', value: 'request.name' },
  { type: 'flow', value: 'name' },
  { type: 'global', value: 'name' },
  { type: 'env', value: 'NAME' },
  { type: 'jsonata', value: 'payload.name' },
];

function nodeFor(area: Area, operation: string, wired: string[]): FlowNode {
  const fields = Object.entries(area.operations[operation]?.fields ?? {});
  const inputs = Object.fromEntries(fields.map(([name, field]) => [name, literal(field)]));
  return { ...common, id: idOf(area, operation), type: `gateway-${area.name}`, operation, operationType: 'op', inputs, outputs: 1, x: 200, y: 80, wires: [wired] };
}

const idOf = (area: Area, operation: string): string => `${area.name}-${operation}`;

const skipped = chromiumPath() === undefined;
if (skipped && process.env.CI) throw new Error('There is no Chromium: set CHROMIUM_PATH.');
if (skipped) console.warn('There is no Chromium on this machine (CHROMIUM_PATH, /usr/bin/chromium): the dialogs are not tested.');

describe.skipIf(skipped).each(lines)('dialogs in Node-RED $version', ({ version, node }) => {
  const work = mkdtempSync(join(tmpdir(), 'gateway-dialogs-'));
  let areas: readonly Area[] = [];
  let nodeRed: Awaited<ReturnType<typeof startNodeRed>>;
  let editor: Editor;

  const trial = { ...common, type: 'gateway-trial', operation: 'create', operationType: 'op', inputs: {}, outputs: 1, x: 200, y: 160, wires: [['end']] };
  const operations = (): [Area, string, Record<string, Field>][] =>
    areas.flatMap((area) => Object.entries(area.operations).map(([name, { fields }]): [Area, string, Record<string, Field>] => [area, name, fields]));

  beforeAll(async () => {
    const folder = await trialPackage(join(work, 'package'));
    areas = (createRequire(__filename)(join(folder, 'dist', 'src', 'areas', 'index.js')) as { areas: Area[] }).areas;
    const flows = [
      { id: 'f1', type: 'tab', label: 'Flow' },
      APPLIANCE,
      { ...APPLIANCE, id: 'ap2', name: 'vpn-2' },
      { id: 'start', type: 'link in', z: 'f1', name: '', links: [], x: 60, y: 80, wires: [['sessions-list', 'tr1']] },
      { id: 'end', type: 'debug', z: 'f1', name: '', x: 460, y: 80, wires: [] },
      ...operations().map(([area, name]) => nodeFor(area, name, ['end'])),
      { ...trial, id: 'tr1' },
      { ...trial, id: 'tr2', inputs: { password: { type: 'cred', value: '' }, server: { type: 'str', value: 'Local' } } },
      { ...trial, id: 'tr3', operation: 'payload.operation', operationType: 'msg', appliance: '', applianceFrom: 'msg', allowDestroy: true },
    ];
    const credentials = { tr2: { password: 'planted-1' }, ap1: { username: 'admin', password: 'planted-2' } };
    nodeRed = await startNodeRed({ userDir: join(work, 'user'), version, node: node(), nodesDir: [folder], flows, credentials });
    editor = await Editor.open(nodeRed.url, 'tr1');
  });

  afterAll(async () => {
    await editor?.close();
    await nodeRed?.stop();
    rmSync(work, { recursive: true, force: true });
  });

  afterEach(() => {
    expect(editor.complaints).toEqual([]);
  });

  describe('every operation', () => {
    it('is drawn with its input port, its wires and no error', async () => {
      for (const [area, name] of operations()) {
        const { errors, ports } = await editor.verdict(idOf(area, name));
        expect({ errors, ports }, idOf(area, name)).toEqual({ errors: [], ports: 1 });
      }
      expect((await editor.exported('start')).wires).toEqual([['sessions-list', 'tr1']]);
      expect(await editor.page.$$eval('.red-ui-flow-node-group', (groups) => groups.filter((group) => group.querySelector('.red-ui-flow-port-input')).length)).toBe(
        operations().length + 4,
      );
    });

    it('shows its own fields, none of the others, and nothing sticks out', async () => {
      for (const [area, name, fields] of operations()) {
        await editor.openNode(idOf(area, name));
        expect((await editor.shownFields()).sort(), idOf(area, name)).toEqual(Object.keys(fields).sort());
        expect(await editor.overflowing(), idOf(area, name)).toEqual([]);
        await editor.cancel();
      }
    });

    it('is the same after Done as before, to the letter', async () => {
      for (const [area, name] of operations()) {
        const before = await editor.exported(idOf(area, name));
        await editor.openNode(idOf(area, name));
        await editor.done();
        expect(await editor.exported(idOf(area, name)), idOf(area, name)).toEqual(before);
      }
    });

    it('keeps what is changed, from every source, and shows it again', async () => {
      for (const [area, name, fields] of operations()) {
        const id = idOf(area, name);
        const wanted = Object.fromEntries(Object.keys(fields).map((field, index) => [field, elsewhere[index % elsewhere.length] as Entry]));
        await editor.openNode(id);
        for (const [field, entry] of Object.entries(wanted)) await editor.setField(field, entry);
        await editor.done();
        expect((await editor.exported(id)).inputs, id).toEqual(wanted);
        await editor.openNode(id);
        for (const [field, entry] of Object.entries(wanted)) expect(await editor.field(field), `${id} ${field}`).toEqual(entry);
        await editor.cancel();
      }
    });

    it('stores nothing of a field that is set back to its default', async () => {
      await editor.openNode('sessions-kill-user');
      await editor.setField('max', { type: 'default', value: '' });
      await editor.done();
      expect(Object.keys((await editor.exported('sessions-kill-user')).inputs ?? {})).toEqual(['name']);
    });
  });

  describe('fields', () => {
    afterEach(() => editor.cancel());

    it('say what runs where nothing is chosen', async () => {
      await editor.openNode('tr1');
      const words = async (name: string): Promise<string> => editor.text(`[data-field="${name}"] .gateway-default`);
      expect(await words('server')).toBe('msg.payload.server');
      expect(await words('amount')).toBe('msg.payload.amount, else 3');
      expect(await words('max')).toBe('25');
      expect(await words('limit')).toBe('no limit');
      expect(await words('file')).toBe('not set');
      expect(await words('mode')).toBe('msg.payload.mode, if there');
      expect(await words('body')).toBe('msg.payload.body');
      await editor.setField('server', { type: 'str', value: 'x' });
      await editor.setField('password', { type: 'msg', value: 'x' });
      expect(await words('body')).toBe('msg.payload.body, or msg.payload itself');
    });

    it('keep what was typed while another operation is looked at', async () => {
      await editor.openNode('tr1');
      await editor.setField('server', { type: 'str', value: 'typed' });
      await editor.setField('mode', { type: 'str', value: 'slow' });
      await editor.chooseOperation('wipe');
      expect(await editor.shownFields()).toEqual([]);
      await editor.chooseOperation('create');
      expect(await editor.field('server')).toEqual({ type: 'str', value: 'typed' });
      expect(await editor.field('mode')).toEqual({ type: 'str', value: 'slow' });
    });

    it('never turn a secret into the name of something else', async () => {
      await editor.openNode('tr1');
      await editor.setField('password', { type: 'cred', value: 'hunter2' });
      await editor.set('#gateway-field-password', 'msg');
      expect(await editor.field('password')).toEqual({ type: 'msg', value: '' });
      await editor.set('#gateway-field-password', 'cred');
      expect(await editor.field('password')).toEqual({ type: 'cred', value: 'hunter2' });
    });

    it('say in words what is wrong with them', async () => {
      await editor.openNode('tr1');
      await editor.setField('server', { type: 'str', value: '' });
      expect(await editor.complaint('server')).toBe('It is empty. Enter a value, or choose default.');
      await editor.setField('body', { type: 'json', value: '[1]' });
      expect(await editor.complaint('body')).toBe('It has to be an object: { … }.');
      await editor.setField('body', { type: 'json', value: '{"a":' });
      expect(await editor.complaint('body')).not.toBe('');
      await editor.setField('max', { type: 'num', value: 'many' });
      expect(await editor.complaint('max')).not.toBe('');
      await editor.setField('max', { type: 'num', value: '${MAX}' });
      expect(await editor.complaint('max')).toBe('');
      await editor.setField('password', { type: 'cred', value: '' });
      expect(await editor.complaint('password')).not.toBe('');
    });
  });

  describe('secrets', () => {
    it('stay in the credentials when they are not touched', async () => {
      await editor.openNode('tr2');
      expect(await editor.field('password')).toEqual({ type: 'cred', value: '__PWRD__' });
      await editor.input('node-input-name', 'renamed');
      await editor.done();
      const node = await editor.exported('tr2');
      expect(node).toMatchObject({ name: 'renamed', inputs: { password: { type: 'cred', value: '' }, server: { type: 'str', value: 'Local' } } });
      expect(node.credentials).toBeUndefined();
    });

    it('are sent as credentials when they are typed, never in the flow', async () => {
      await editor.openNode('tr2');
      await editor.setField('code', { type: 'cred', value: 'planted-3' });
      await editor.done();
      const { credentials, ...rest } = await editor.exported('tr2');
      expect(credentials).toEqual({ code: 'planted-3' });
      expect(JSON.stringify(rest)).not.toContain('planted');
      expect(rest.inputs).toMatchObject({ code: { type: 'cred', value: '' } });
    });

    it('go when their field goes', async () => {
      await editor.openNode('tr2');
      await editor.chooseOperation('wipe');
      await editor.done();
      const node = await editor.exported('tr2');
      expect(node.inputs).toEqual({});
      expect(node.credentials).toMatchObject({ password: '' });
      await editor.undo();
      expect((await editor.exported('tr2')).inputs).toHaveProperty('password');
    });
  });

  describe('a node', () => {
    it('gets its second port with the second output, and loses it again', async () => {
      await editor.openNode('sessions-list');
      await editor.input('node-input-failures', 'output');
      await editor.done();
      expect(await editor.exported('sessions-list')).toMatchObject({ failures: 'output', outputs: 2, wires: [['end'], []] });
      await editor.openNode('sessions-list');
      await editor.input('node-input-failures', 'catch');
      await editor.done();
      expect(await editor.exported('sessions-list')).toMatchObject({ failures: 'catch', outputs: 1, wires: [['end']] });
      expect((await editor.exported('start')).wires).toEqual([['sessions-list', 'tr1']]);
    });

    it('undoes and redoes what its dialog changed', async () => {
      const read = async (): Promise<unknown> => (await editor.exported('sessions-kill-matching')).inputs;
      const before = await read();
      await editor.openNode('sessions-kill-matching');
      await editor.setField('max', { type: 'num', value: '11' });
      await editor.done();
      const after = await read();
      expect(after).toMatchObject({ max: { type: 'num', value: '11' } });
      await editor.undo();
      expect(await read()).toEqual(before);
      await editor.redo();
      expect(await read()).toEqual(after);
      expect((await editor.verdict('sessions-kill-matching')).ports).toBe(1);
    });

    it('takes its appliance from the message when asked to', async () => {
      await editor.openNode('tr1');
      await editor.input('gateway-by-message', true);
      expect(await editor.visible('.gateway-appliance')).toBe(false);
      await editor.done();
      expect(await editor.exported('tr1')).toMatchObject({ appliance: '', applianceFrom: 'msg' });
      expect((await editor.verdict('tr1')).errors).toEqual([]);
      await editor.openNode('tr1');
      await editor.input('gateway-by-message', false);
      await editor.input('node-input-appliance', 'ap2');
      await editor.done();
      expect(await editor.exported('tr1')).toMatchObject({ appliance: 'ap2', applianceFrom: '' });
    });

    it('shows all fields of its area where a message chooses the operation', async () => {
      await editor.openNode('tr3');
      expect(await editor.shownFields()).toEqual(expect.arrayContaining(['server', 'password', 'code', 'body']));
      expect(await editor.visible('.gateway-allow-destroy')).toBe(true);
      await editor.done();
      expect(await editor.exported('tr3')).toMatchObject({ operation: 'payload.operation', operationType: 'msg', allowDestroy: true, applianceFrom: 'msg' });
    });

    it('keeps an operation that this version does not know, and says so', async () => {
      await editor.import([{ ...trial, id: 'tr4', operation: 'explode', wires: [[]] }]);
      expect((await editor.verdict('tr4')).errors).toEqual(['Operation: there is no explode here.']);
      await editor.openNode('tr4');
      expect(await editor.text('.gateway-operation-error')).toBe('Operation: there is no explode here.');
      await editor.done();
      expect(await editor.exported('tr4')).toMatchObject({ operation: 'explode', operationType: 'op' });
    });

    it('says what is missing without being opened', async () => {
      const inputs = { body: { type: 'json', value: '{' }, max: { type: 'num', value: '' }, server: { type: 'str', value: '${SERVER}' } };
      await editor.import([{ ...trial, id: 'tr5', appliance: '', inputs, output: 'req.body', wires: [[]] }]);
      const { errors } = await editor.verdict('tr5');
      expect(errors).toHaveLength(4);
      expect(errors.join('\n')).toMatch(/Appliance: .*\n[^]*Body: [^]*Most: It is empty[^]*msg\.req has a meaning/);
    });

    it('hides the dry run of a read and marks what destroys', async () => {
      await editor.openNode('sessions-list');
      expect(await editor.visible('.gateway-dry-run')).toBe(false);
      await editor.chooseOperation('kill-all');
      expect(await editor.visible('.gateway-dry-run')).toBe(true);
      expect(await editor.visible('.gateway-destroys')).toBe(true);
      await editor.cancel();
    });
  });

  describe('the appliance', () => {
    const shown = async (): Promise<string[]> =>
      editor.page.$$eval('.gateway-form-config .form-row input, .gateway-form-config .form-row select', (inputs) =>
        inputs.filter((input) => input.checkVisibility()).map((input) => input.id.replace('node-config-input-', '')),
      );

    it('keeps everything, secrets too', async () => {
      const before = await editor.exported('ap1');
      await editor.openNode('ap1');
      await editor.done();
      expect(await editor.exported('ap1')).toMatchObject(before);
      await editor.openNode('ap1');
      await editor.input('node-config-input-login', 'key');
      await editor.input('node-config-input-apiKey', 'planted-4');
      await editor.input('node-config-input-connections', '4');
      await editor.input('node-config-input-url', ' https://vpn.example.com/path ');
      await editor.done();
      expect(await editor.exported('ap1')).toMatchObject({ login: 'key', connections: '4', url: 'https://vpn.example.com/path', credentials: { apiKey: 'planted-4' } });
    });

    it('asks only for what the login needs', async () => {
      await editor.openNode('ap2');
      expect(await shown()).toEqual(['name', 'url', 'login', 'realm', 'username', 'password', 'secondFactor', 'tls', 'proxy']);
      await editor.input('node-config-input-secondFactor', 'totp');
      expect(await shown()).toEqual(expect.arrayContaining(['secondUsername', 'totpSecret']));
      await editor.input('node-config-input-login', 'legacy');
      expect(await shown()).toEqual(['name', 'url', 'login', 'username', 'password', 'tls', 'proxy']);
      await editor.input('node-config-input-login', 'key');
      expect(await shown()).toEqual(['name', 'url', 'login', 'apiKey', 'tls', 'proxy']);
      expect(await editor.overflowing()).toEqual([]);
      await editor.cancel();
    });

    it.each([
      ['', /enter the address/],
      ['vpn.example.com', /not an address/],
      ['https://admin:secret@vpn.example.com', /their own fields/],
      ['https://vpn.example.com/?a=b', /leave out/],
      ['http://vpn.example.com', /in clear/],
      ['ftp://vpn.example.com', /begin with https/],
      ['http://127.0.0.1:8080', /^$/],
      ['https://vpn.example.com/prefix', /^$/],
      ['${APPLIANCE_URL}', /^$/],
    ])('says of the URL %j %s', async (url, words) => {
      await editor.openNode('ap2');
      await editor.input('node-config-input-url', url);
      expect(await editor.text('[data-error="url"]')).toMatch(words);
      await editor.cancel();
    });

    it('sends what the dialog holds to the test, and shows the answer as text', async () => {
      let sent: Record<string, unknown> = {};
      const answers = [
        { ok: true, system: { 'host-name': 'vpn-1', 'hardware-model': 'M1', 'os-version': '9.1' }, ms: 41.6 },
        { ok: false, code: 'TLS', reason: 'DEPTH_ZERO_SELF_SIGNED_CERT', message: '<img src=x onerror=alert(1)> is not trusted' },
      ];
      await editor.page.route('**/gateway-appliance/test', async (route) => {
        sent = route.request().postDataJSON() as Record<string, unknown>;
        await route.fulfill({ json: answers.shift() });
      });
      await editor.openNode('ap1');
      await editor.input('node-config-input-login', 'realm');
      await editor.page.click('#gateway-test');
      await editor.page.waitForSelector('.gateway-good');
      expect(await editor.text('.gateway-test-heading')).toBe('Connected to vpn-1 in 42 ms.');
      expect(sent).toMatchObject({ id: 'ap1', realm: 'Admin Users', tls: '', credentials: { username: 'admin', password: '__PWRD__', apiKey: 'planted-4' } });
      await editor.page.click('#gateway-test');
      await editor.page.waitForSelector('.gateway-bad');
      expect(await editor.text('.gateway-test-heading')).toMatch(/certificate/);
      expect(await editor.text('.gateway-test-result')).toContain('<img src=x');
      await editor.page.unroute('**/gateway-appliance/test');
      await editor.cancel();
    });

    it('tells what the running node says of a port where nothing listens', async () => {
      await editor.openNode('ap2');
      await editor.input('node-config-input-url', 'https://127.0.0.1:1');
      await editor.input('node-config-input-username', 'admin');
      await editor.input('node-config-input-password', 'secret');
      await editor.page.click('#gateway-test');
      await editor.page.waitForSelector('.gateway-bad');
      expect(await editor.text('.gateway-test-heading')).toBe('Nothing listens at that address and port.');
      await editor.cancel();
    });
  });
});
