import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startNodeRed, type NodeRed } from '../../scripts/demo/node-red.mjs';
import { findAxeViolations } from '../../test/browser/axe';
import { tooFaint } from '../../test/browser/contrast';
import { chromiumPath, Editor } from '../../test/browser/editor';

const root = join(__dirname, '..', '..');
const PICTURES = process.env['GATEWAY_PICTURES'];
const skipped = chromiumPath() === undefined;
if (skipped && process.env['CI']) throw new Error('There is no Chromium: set CHROMIUM_PATH.');

declare const RED: { nodes: { getNodeHelp(type: string): string } };

const place = { z: 'f1', x: 200, y: 100, wires: [] };
const KILL = { name: { type: 'str', value: 'j.doe' }, max: { type: 'num', value: '3' } };
const APPLIANCES = JSON.stringify(
  ['berlin-1 eu', 'berlin-2 eu', 'boston-1 us'].map((entry) => {
    const [name = '', tags = ''] = entry.split(' ');
    return { name, url: `https://${name}.example.com`, tags };
  }),
);
const FLOWS = [
  { id: 'f1', type: 'tab', label: 'Fleet' },
  {
    id: 'inv',
    type: 'gateway-inventory',
    name: 'ours',
    source: 'list',
    list: APPLIANCES,
    defaults: '{"realm": "Admin Users"}',
    secrets: 'node',
  },
  { id: 'eng', type: 'gateway-fleet-engine', name: '', inventory: 'inv', fleet: '', inFlight: 16, urgentInFlight: 32, connections: 4 },
  {
    ...place,
    id: 'r1',
    type: 'gateway-fleet-run',
    name: '',
    engine: 'eng',
    select: 'tag:eu',
    selectType: 'str',
    operation: 'sessions.kill-user',
    fields: KILL,
    credentialSet: '',
    canary: '2',
    batch: '10%',
    maxFailures: '',
    maxAppliances: '500',
    data: 'none',
    urgent: true,
    dryRun: false,
    allowDestroy: false,
    wires: [[], []],
  },
  {
    ...place,
    id: 't1',
    type: 'gateway-fleet-task',
    name: '',
    engine: 'eng',
    select: '*',
    selectType: 'str',
    atOnce: 4,
    minutes: 60,
    repeat: 'ask',
    canary: '',
    batch: '',
    maxFailures: '5%',
    data: 'none',
    wires: [[], [], []],
  },
  { ...place, id: 'd1', type: 'gateway-fleet-done', name: '' },
  // A node with missing properties.
  { ...place, id: 'c2', type: 'gateway-fleet-control', engine: 'eng', operation: 'list' },
  { ...place, id: 'c1', type: 'gateway-fleet-control', name: '', engine: 'eng', operation: 'get', limit: 100, wires: [[]] },
];

describe.skipIf(skipped)('fleet dialogs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-editor-'));
  let red: NodeRed;
  let editor: Editor;
  beforeAll(async () => {
    red = await startNodeRed({
      userDir: join(folder, 'user'),
      version: 5,
      nodesDir: [root, join(root, 'fleet')],
      flows: FLOWS,
      // Nothing listens on this port, because dialogs must work without the database.
      credentials: { eng: { url: 'postgresql://nobody:planted-Secret@127.0.0.1:1/none' } },
    });
    editor = await Editor.open(red.url, 'r1');
  });
  afterAll(async () => {
    await editor?.close();
    await red?.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  it.each(['r1', 't1', 'd1', 'c1', 'eng'])(
    'the fleet dialog of %s opens without errors or missing texts, and Done changes nothing',
    async (id) => {
      const before = await editor.exported(id);
      expect(await editor.verdict(id)).toMatchObject({ valid: true, errors: [] });
      await editor.openNode(id);
      const words = await editor.text('.red-ui-tray .gateway-form');
      // A missing text shows its catalog key.
      expect(words).not.toMatch(/\b(common|run|task|done|control|engine)\.[a-zA-Z]+/);
      expect(await findAxeViolations(editor.page, '.gateway-form')).toEqual([]);
      await editor.done();
      expect(await editor.exported(id)).toEqual(before);
      expect(editor.complaints).toEqual([]);
    },
  );

  it('fleet dialogs use the default for each property that the imported flow leaves out', async () => {
    expect(await editor.verdict('c2')).toMatchObject({ valid: true, errors: [] });
    await editor.openNode('c2');
    expect(await editor.text('[data-error="limit"]')).toBe('');
    await editor.done();
    expect(await editor.exported('c2')).toMatchObject({ limit: '100' });
  });

  it('fleet dialogs show the fields of the chosen operation for a run, without secret fields', async () => {
    await editor.openNode('r1');
    expect(await editor.shownFields()).toEqual(['name', 'match', 'max']);
    expect(await editor.fields(['name', 'max'])).toEqual(KILL);
    expect(await editor.text('.gateway-about')).toContain('Finds the sessions of one user');
    await editor.page.evaluate(() => $('#fleet-operation').val('users.create').trigger('change'));
    expect(await editor.shownFields()).toContain('username');
    expect(await editor.shownFields()).not.toContain('password-cleartext');
    expect(await editor.visible('#node-input-credentialSet')).toBe(true);
    await editor.setFields({ server: { type: 'str', value: 'System Local' }, username: { type: 'msg', value: 'payload.who' } });
    await editor.done();
    expect(await editor.exported('r1')).toMatchObject({
      operation: 'users.create',
      fields: { server: { type: 'str', value: 'System Local' }, username: { type: 'msg', value: 'payload.who' } },
    });
    expect(editor.complaints).toEqual([]);
  });

  it('the field Select of fleet dialogs suggests names and tags with counts, shows what matches, and has an accessible name', async () => {
    const { page } = editor;
    await editor.openNode('r1');
    await page.waitForSelector('#gateway-matches:has-text("2 of 3 appliances")');
    const box = page.locator('.red-ui-tray #node-input-select-value');
    expect(await box.getAttribute('aria-label')).toBe('Select');
    await box.fill('');
    await box.pressSequentially('tag:');
    await page.waitForSelector('text=tag:us (1)');
    await page.keyboard.press('Escape');
    await editor.cancel();
    await editor.openNode('d1');
    expect(await editor.text('.red-ui-tray .gateway-about')).toMatch(/^Ends the work on one appliance\. .*\.$/);
    await editor.cancel();
  });

  it('fleet dialogs show an error text for an invalid number', async () => {
    await editor.openNode('t1');
    await editor.page.evaluate(() => $('#node-input-atOnce').val('none').trigger('change'));
    expect(await editor.text('[data-error="atOnce"]')).toBe('Enter a whole number from 1.');
    await editor.done();
    expect((await editor.verdict('t1')).valid).toBe(false);
  });

  it.each([
    ['de', 'Auswahl', 'Flottenlauf', 'Führt eine Operation auf vielen Appliances aus'],
    ['ja', '選択', 'フリート実行', '1つの操作を多数の機器に実行します'],
    ['zh-CN', '选择', '机群运行', '在多台设备上执行一项操作'],
  ])('the fleet dialogs have all texts, fit their frame and have enough contrast in %s', async (language, select, palette, help) => {
    const { page } = editor;
    await page.evaluate((wanted) => localStorage.setItem('editor-language', wanted), language);
    await editor.reload('r1');
    expect(await editor.text('.red-ui-palette-node[data-palette-type="gateway-fleet-run"]')).toContain(palette);
    expect(await page.evaluate(() => RED.nodes.getNodeHelp('gateway-fleet-run'))).toContain(help);
    for (const [at, id] of ['r1', 't1', 'c1', 'eng'].entries()) {
      await page.evaluate((dark) => document.documentElement.classList.toggle('nr-theme-dark', dark), at % 2 === 0);
      await editor.openNode(id);
      await page.evaluate(() => $('.fleet-pace').prop('open', true));
      const words = await editor.text('.red-ui-tray .gateway-form');
      expect(words).not.toMatch(/\b(common|run|task|done|control|engine)\.[a-zA-Z]+/);
      if (id === 'r1' || id === 't1') expect(words).toContain(select);
      expect(await editor.overflowing(), id).toEqual([]);
      expect(await page.evaluate(tooFaint), id).toEqual([]);
      if (PICTURES !== undefined) await page.screenshot({ path: `${PICTURES}/fleet-${language}-${id}.png` });
      await editor.cancel();
    }
    await page.evaluate(() => {
      document.documentElement.classList.remove('nr-theme-dark');
      localStorage.removeItem('editor-language');
    });
    expect(editor.complaints).toEqual([]);
  });

  it('fleet dialogs never export or log the address of the database', async () => {
    expect(JSON.stringify(await editor.exported('eng'))).not.toContain('planted');
    expect(red.output()).not.toContain('planted');
  });
});
