import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startNodeRed } from '../../scripts/demo/node-red.mjs';
import { root } from '../../scripts/tools.mjs';
import { startSimulator, type Simulator } from '../../src/simulator';
import { Editor } from './editor';
import { skipped } from './rig';
import { lines } from './rig-pool';

declare const RED: {
  workspaces: { active(): string };
  view: { redraw(): void };
};
declare const window: { presses: number };

/** Maximum clicks of a task without its own limit. A double click counts as two. */
const MAX_CLICKS = 12;

/** What a person does with the mouse, counted by the page itself at every press of the button; typing is not counted. */
class Hand {
  private readonly page: Page;

  constructor(
    private readonly editor: Editor,
    private readonly sim: Simulator,
  ) {
    this.page = editor.page;
  }

  get presses(): Promise<number> {
    return this.page.evaluate(() => window.presses);
  }

  /** Drags a node from the palette to a place in the workspace; one of ours opens its dialog. */
  async place(type: string, x: number, y: number): Promise<void> {
    const node = this.page.locator(`.red-ui-palette-node[data-palette-type="${type}"]`);
    await node.evaluate((element) => element.scrollIntoView({ block: 'center' }));
    const chart = await this.box(this.page.locator('#red-ui-workspace-chart'));
    await this.drag(await this.box(node), { x: chart.x + x, y: chart.y + y, width: 0, height: 0 });
    if (type.startsWith('gateway-')) await this.page.waitForSelector('.red-ui-typedInput-options:visible a[value]');
  }

  /** From the output of a node to the input of another one. */
  async wire(from: string, to: string): Promise<void> {
    const port = (type: string, side: string): Locator => this.page.locator(`[data-of="${type}"] .red-ui-flow-port-${side} rect`).first();
    await this.drag(await this.box(port(from, 'output')), await this.box(port(to, 'input')));
  }

  async open(type: string): Promise<void> {
    await this.page.waitForTimeout(150);
    await this.mark();
    await this.page.locator(`[data-of="${type}"] .red-ui-flow-node`).first().dblclick();
    await this.opened();
  }

  async click(selector: string): Promise<void> {
    await this.page.locator(selector).last().click();
  }

  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text);
  }

  /** From the menu of operations, which is open in a node that was just placed. */
  async operation(name: string): Promise<void> {
    await this.click(`.red-ui-typedInput-options:visible a[value="${name}"]`);
  }

  /** From what the appliance has: the list of a required field of a new node opens by itself. */
  async pick(field: string, value: string): Promise<void> {
    await this.page.waitForSelector(`[data-field="${field}"] [role="combobox"][aria-expanded="true"]`);
    await this.click(`.gateway-list [role="option"]:has-text("${value}")`);
  }

  /** Adds the Inject node that the dialog of a new node offers. */
  async startWithInject(): Promise<void> {
    await this.click('.gateway-offer button');
  }

  async done(): Promise<void> {
    await this.click('#node-dialog-ok');
    await this.page.waitForSelector('.red-ui-tray', { state: 'detached' });
    await this.mark();
  }

  async deploy(): Promise<void> {
    await this.click('#red-ui-header-button-deploy');
    await this.editor.deployed();
  }

  async inject(): Promise<void> {
    await this.click('[data-of="inject"] .red-ui-flow-node-button-button');
  }

  /** Until the appliance has been asked for it. */
  async asked(method: string, path: RegExp): Promise<string> {
    const found = (): string | undefined =>
      this.sim.requests.find((request) => request.method === method && path.test(request.path) && request.status < 300)?.body;
    await expect.poll(found, { timeout: 20_000 }).toBeDefined();
    return found() ?? '';
  }

  /** So that each node is found by its type, as the eye does. */
  async mark(): Promise<void> {
    await this.page.evaluate(() => {
      for (const group of document.querySelectorAll<SVGElement & { __data__?: { type: string } }>('.red-ui-flow-node-group'))
        group.setAttribute('data-of', group.__data__?.type ?? '');
    });
  }

  /** The ID of the node of a type in the visible flow. */
  async idOf(type: string): Promise<string> {
    return (await this.page.locator(`[data-of="${type}"]`).first().getAttribute('id')) ?? '';
  }

  private async opened(): Promise<void> {
    await this.page.waitForSelector('.red-ui-tray .red-ui-tray-body form');
    await this.page.waitForTimeout(100);
  }

  /** What was just drawn anew is found again by its type. */
  private async box(locator: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
    await this.page.waitForTimeout(150);
    await this.mark();
    const box = await locator.boundingBox();
    if (!box) throw new Error('It is not to be seen.');
    return box;
  }

  private async drag(from: DOMRectLike, to: DOMRectLike): Promise<void> {
    const { mouse } = this.page;
    await mouse.move(from.x + from.width / 2, from.y + from.height / 2);
    await mouse.down();
    await mouse.move(from.x + from.width / 2 + 8, from.y + from.height / 2 + 8, { steps: 3 });
    await mouse.move(to.x + to.width / 2, to.y + to.height / 2, { steps: 12 });
    await mouse.up();
    await this.mark();
  }
}

type DOMRectLike = { x: number; y: number; width: number; height: number };

describe.skipIf(skipped).each(lines)('a new user in Node-RED $version', ({ version, node }) => {
  const work = mkdtempSync(join(tmpdir(), 'gateway-tasks-'));
  let sim: Simulator;
  let nodeRed: Awaited<ReturnType<typeof startNodeRed>>;
  let editor: Editor;
  let hand: Hand;
  let tab = 0;

  beforeAll(async () => {
    sim = await startSimulator({ sessions: 30 });
    const appliance = {
      id: 'ap1',
      type: 'gateway-appliance',
      name: 'vpn-1',
      url: sim.url,
      login: 'realm',
      realm: 'Admin Users',
      tls: 'tls1',
    };
    // What is tried once more has a tab of its own.
    const tabs = Array.from({ length: 16 }, (_, index) => ({ id: `t${index + 1}`, type: 'tab', label: `Task ${index + 1}` }));
    const tls = { id: 'tls1', type: 'tls-config', name: 'lab', cert: '', key: '', ca: '', verifyservercert: true };
    nodeRed = await startNodeRed({
      userDir: work,
      version,
      node: node(),
      nodesDir: [process.env.GATEWAY_PACKAGE ?? root],
      flows: [...tabs, tls, { ...appliance, secondFactor: 'none' }],
      credentials: { ap1: { username: 'api-admin', password: 'simulator' }, tls1: { cadata: sim.ca } },
    });
    editor = await Editor.open(nodeRed.url, 'ap1');
    await editor.page.evaluate(() => {
      window.presses = 0;
      document.addEventListener('mousedown', () => (window.presses += 1), true);
    });
    hand = new Hand(editor, sim);
  });
  afterAll(async () => {
    await editor?.close();
    await nodeRed?.stop();
    await sim?.close();
    rmSync(work, { recursive: true, force: true });
  });
  beforeEach(async () => {
    tab += 1;
    await editor.page.evaluate((id) => {
      (RED.workspaces as unknown as { show(id: string): void }).show(id);
      window.presses = 0;
    }, `t${tab}`);
    sim.requests.length = 0;
  });

  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await editor.leave();
  });

  const within = async (task: string, goal = MAX_CLICKS): Promise<void> => {
    const presses = await hand.presses;
    console.log(`Node-RED ${version}: ${task}: ${presses} clicks`);
    expect(presses, task).toBeLessThanOrEqual(goal);
    expect(editor.complaints.splice(0)).toEqual([]);
  };

  it('a new user lists the sessions by clicks', async () => {
    await hand.place('gateway-sessions', 360, 80);
    await hand.operation('list');
    await hand.startWithInject();
    await hand.done();
    await hand.place('debug', 600, 80);
    await hand.wire('gateway-sessions', 'debug');
    await hand.deploy();
    await hand.inject();
    await hand.asked('GET', /active-users/);
    await within('list sessions', 9);
  });

  it('a new user disables a user by picking server and name from lists', async () => {
    await hand.place('gateway-users', 360, 80);
    await hand.operation('disable');
    await hand.pick('server', 'System Local');
    await hand.pick('username', 'contractor1');
    await hand.startWithInject();
    await hand.done();
    await hand.deploy();
    await hand.inject();
    expect(await hand.asked('PUT', /contractor1\/enabled$/)).toContain('false');
    await within('disable a user', 8);
  });

  it('a new user builds a webhook that ends sessions', async () => {
    await hand.place('http in', 120, 80);
    await hand.open('http in');
    await hand.click('#node-input-url');
    await hand.type(`end-${tab}`);
    await hand.done();
    await hand.place('http response', 660, 80);
    await hand.wire('http in', 'http response');
    await hand.place('gateway-sessions', 390, 80);
    await hand.operation('kill-user');
    await hand.done();
    await hand.deploy();
    const name = `visitor-${tab}`;
    sim.state.sessions.add({ 'active-user-name': name });
    const answer = await fetch(`${nodeRed.url}/end-${tab}?name=${encodeURIComponent(name)}`);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ total: 1, ok: 1 });
    await within('webhook ends sessions');
  });

  it('a new user reads a configuration value, changes it and writes it back', async () => {
    await hand.place('gateway-config', 360, 80);
    await hand.operation('update');
    // The tree of a new node opens by itself.
    await editor.page.waitForSelector('.gateway-browser');
    await editor.page.locator('.gateway-tree-side > input').focus();
    await hand.type('user-role/Users');
    await hand.click('.gateway-hits button[data-path$="user-role/Users"]');
    await hand.click('[data-name="description"] .gateway-change input');
    await hand.type('Day shift');
    await hand.click('#gateway-tree-ok');
    await editor.page.waitForSelector('.gateway-browser', { state: 'detached' });
    await editor.page.waitForSelector('.gateway-difference ins');
    await hand.startWithInject();
    await hand.done();
    await hand.deploy();
    await hand.inject();
    expect(await hand.asked('PUT', /user-role\/Users$/)).toContain('Day shift');
    await within('read, change, write back', 9);
  });

  it('a new user sets up a nightly backup', async () => {
    await hand.place('gateway-backup', 360, 80);
    await hand.operation('run');
    // The folder of a new node opens by itself.
    await editor.page.waitForSelector('.gateway-folders');
    await hand.type(work);
    await hand.click('.gateway-offer button:has-text("02:00")');
    await hand.done();
    await hand.deploy();
    await within('nightly backup', 8);
    expect((await editor.exported(await hand.idOf('inject'))).crontab).toBe('00 02 * * *');
    await hand.inject();
    await hand.asked('POST', /binary-configuration|export-xml/);
  });

  it('the folder picker creates a folder below the user directory of Node-RED, and enters it', async () => {
    await hand.place('gateway-backup', 360, 80);
    await hand.operation('run');
    await editor.page.waitForSelector('.gateway-folders');
    await editor.page.locator('.gateway-folder-new input').fill(`backups-${tab}`);
    await hand.click('.gateway-folder-new button');
    const folder = join(work, `backups-${tab}`);
    await expect.poll(() => editor.field('folder')).toEqual({ type: 'str', value: folder });
    expect(existsSync(folder)).toBe(true);
    await hand.done();
    await hand.open('gateway-backup');
    expect(await editor.field('folder')).toEqual({ type: 'str', value: folder });
    await editor.cancel();
  });

  it('*Try now* shows the data of a read as a table and as JSON, and changes nothing', async () => {
    await hand.place('gateway-sessions', 360, 80);
    await hand.operation('list');
    await hand.click('#gateway-try');
    await editor.page.waitForSelector('.gateway-try-result tbody tr');
    expect(await editor.page.locator('.gateway-try-result thead th').allTextContents()).toContain('active-user-name');
    const rows = await editor.page.locator('.gateway-try-result tbody tr').count();
    expect(rows).toBeGreaterThanOrEqual(30);
    const overflow = await editor.page.$eval('.gateway-try-result', ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
    expect(overflow).toBeLessThanOrEqual(0);
    await hand.click('.gateway-try-json');
    expect(JSON.parse(await editor.text('.gateway-try-result pre'))).toHaveLength(rows);
    expect(sim.requests.filter(({ method, path }) => method !== 'GET' && !/login/.test(path))).toEqual([]);
    await editor.cancel();
  });

  it('the dialog wires the failures of a webhook to a response, so that the caller gets the reason', async () => {
    await hand.place('http in', 120, 80);
    await hand.open('http in');
    await hand.click('#node-input-url');
    await hand.type(`fail-${tab}`);
    await hand.done();
    await hand.place('http response', 660, 80);
    await hand.wire('http in', 'http response');
    await hand.place('gateway-sessions', 390, 80);
    await hand.operation('kill-user');
    await hand.done();
    await hand.open('gateway-sessions');
    await hand.click('.gateway-offer button');
    await editor.page.waitForSelector('.gateway-offer', { state: 'detached' });
    await hand.done();
    await hand.deploy();
    // Without a name, the node fails before it sends a request.
    const answer = await fetch(`${nodeRed.url}/fail-${tab}`);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({ message: expect.stringContaining('name') as unknown });
  });

  it('a new user backs up every night with a recipe', async () => {
    if (version === 5) await hand.click('button[data-tab-id="gateway-sidebar"]');
    else {
      await hand.click('#red-ui-sidebar .red-ui-tab-link-button-menu');
      await hand.click('.red-ui-menu-dropdown:visible a:has-text("Gateways")');
    }
    await hand.click('[data-recipe="backup"]');
    await editor.page.waitForSelector('.gateway-recipe-form');
    await hand.type(work);
    await hand.click('#gateway-recipe-insert');
    await editor.page.waitForSelector('.red-ui-tray', { state: 'detached' });
    await hand.deploy();
    await within('nightly backup with a recipe', 8);
    await hand.mark();
    await hand.inject();
    await hand.asked('POST', /binary-configuration|export-xml/);
  });
});
