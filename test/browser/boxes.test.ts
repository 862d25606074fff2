import { afterAll, beforeAll, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator';
import { findAxeViolations } from './axe';
import { tooFaint } from './contrast';
import { inBothEditors, TRIAL } from './rig';

declare const RED: { nodes: { node(id: string): object | null } };

const PICTURES = process.env['GATEWAY_PICTURES'];

/** What the tools open, each with all that it can show. */
inBothEditors('the panels beside the fields', (rig) => {
  let sim: Simulator;
  beforeAll(async () => {
    sim = await startSimulator({ sessions: 60 });
    const login = { login: 'realm', realm: 'Admin Users', secondFactor: 'none', url: sim.url };
    const credentials = { username: 'api-admin', password: 'simulator' };
    const text = (value: string): object => ({ type: 'str', value });
    const node = (id: string, type: string, operation: string, fields: object): object => ({
      ...{ ...TRIAL, wires: [[]], appliance: 'seen', id, type: `gateway-${type}`, operation, fields },
    });
    await rig.editor.import([
      { id: 'seen', type: 'gateway-appliance', name: 'lab', ...login, tls: 'tls1', credentials },
      { id: 'unseen', type: 'gateway-appliance', name: 'unknown', ...login, credentials },
      node('box-list', 'users', 'disable', { server: text('Gone') }),
      node('box-nobody', 'users', 'disable', { server: text('Gone') }),
      node('box-filter', 'sessions', 'kill-matching', { filter: { type: 'json', value: '{"source-ip":"203.0.113.0/24"}' } }),
      node('box-body', 'config', 'update', {
        path: text('users/user-roles/user-role/Users'),
        body: { type: 'json', value: '{"description":"Day shift","nope":1}' },
      }),
      node('box-tree', 'config', 'get', { path: text('users/user-roles/user-role/{{payload.name}}') }),
      node('box-preview', 'sessions', 'kill-all', { max: { type: 'num', value: '100' } }),
    ]);
    // A dialog shows the content of resources only of an appliance that is deployed.
    await rig.editor.openNode('seen');
    for (const [name, value] of Object.entries(credentials)) await rig.editor.input(`node-config-input-${name}`, value);
    await rig.editor.done();
    await rig.editor.deploy();
    await rig.editor.page.evaluate(() => void Object.assign(RED.nodes.node('unseen') ?? {}, { changed: true }));
  });
  afterAll(() => sim.close());

  const { press, see }: { press: (selector: string) => Promise<void>; see: (selector: string) => Promise<void> } = {
    press: (selector) => rig.editor.page.click(selector),
    see: async (selector) => void (await rig.editor.page.waitForSelector(selector)),
  };
  const boxes: [what: string, id: string, open: () => Promise<void>, close?: () => Promise<void>][] = [
    [
      'a list, and a name that is gone',
      'box-list',
      async () => {
        await press('[data-field="server"] [data-tool="pick"]');
        await see('.gateway-list [role="option"]');
        await rig.editor.page.keyboard.press('ArrowDown');
        await see('.gateway-gone');
      },
    ],
    [
      'a list that nobody answers',
      'box-nobody',
      async () => {
        await rig.editor.input('node-input-appliance', 'ap2');
        await press('[data-field="server"] [data-tool="pick"]');
        await see('.gateway-list-bad');
      },
    ],
    [
      'the conditions of a filter',
      'box-filter',
      async () => {
        await press('[data-field="filter"] [data-tool="filter"]');
        await see('.gateway-condition');
      },
    ],
    [
      'what would become different',
      'box-body',
      async () => {
        await press('[data-field="body"] [data-tool="current"]');
        await see('.gateway-difference ins');
      },
    ],
    [
      'the tree',
      'box-tree',
      async () => {
        await press('[data-field="path"] [data-tool="tree"]');
        await press('.gateway-tree .red-ui-treeList-label:has-text("users")');
        await see('.gateway-resource-form');
      },
      async () => {
        await press('#gateway-tree-cancel');
        await rig.editor.page.waitForSelector('.gateway-browser', { state: 'detached' });
      },
    ],
    [
      'what would be sent',
      'box-preview',
      async () => {
        await press('#gateway-preview');
        await rig.editor.page.waitForFunction(() =>
          /\d/.test(document.querySelector('.gateway-preview-place .gateway-difference')?.textContent ?? ''),
        );
      },
    ],
    [
      'a certificate that nobody knows',
      'unseen',
      async () => {
        await press('#gateway-test');
        await see('.gateway-trust');
      },
    ],
    [
      'a test that went well',
      'seen',
      async () => {
        await press('#gateway-test');
        await see('.gateway-good');
        await rig.editor.page.waitForFunction(() => document.querySelector('.gateway-test-result')?.textContent?.includes('Role'));
      },
    ],
  ];

  it.each(boxes)(
    'the texts in info boxes of the editor have enough contrast in light and dark, and axe finds nothing: %s',
    async (what, id, open, close) => {
      for (const dark of rig.version === 5 ? [false, true] : [false]) {
        await rig.editor.page.evaluate((on) => document.documentElement.classList.toggle('nr-theme-dark', on), dark);
        await rig.editor.openNode(id);
        await open();
        // Under the pointer a button has Node-RED's own colors.
        await rig.editor.page.mouse.move(0, 0);
        const picture = `${PICTURES}/box-${id}-${rig.version}${dark ? '-dark' : ''}.png`;
        if (PICTURES !== undefined) await rig.editor.page.screenshot({ path: picture });
        expect(await rig.editor.page.evaluate(tooFaint), `${what}, dark: ${dark}`).toEqual([]);
        // axe sees no colors inside Node-RED, so one theme is enough.
        if (!dark) expect(await findAxeViolations(rig.editor.page, '.gateway-form, .gateway-panel'), what).toEqual([]);
        await close?.();
        await rig.editor.cancel();
      }
      await rig.editor.page.evaluate(() => document.documentElement.classList.remove('nr-theme-dark'));
    },
  );
});
