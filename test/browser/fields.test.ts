import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator';
import { inBothEditors, TRIAL } from './rig';

declare const RED: {
  nodes: {
    import(nodes: unknown[]): void;
    node(id: string): { changed?: boolean } | null;
    addLink(link: { source: unknown; sourcePort: number; target: unknown }): void;
  };
  tray: unknown;
  view: { redraw(now: boolean): void };
};

inBothEditors('a field row', (rig) => {
  let sim: Simulator;
  beforeAll(async () => {
    sim = await startSimulator({ sessions: 300, cluster: 'active-passive' });
  });
  afterAll(() => sim.close());

  const node = { ...TRIAL, wires: [[]], appliance: 'ap3', type: 'gateway-users', operation: 'disable' };
  let made = 0;

  /** An appliance that is not deployed, and a node that uses it, open. */
  async function open(more: object = {}): Promise<string> {
    const id = `fresh${(made += 1)}`;
    const login = { login: 'realm', realm: 'Admin Users', secondFactor: 'none', tls: 'tls1' };
    const credentials = { username: 'api-admin', password: 'simulator' };
    const nodes = [{ id: 'ap3', type: 'gateway-appliance', name: 'lab', url: sim.url, ...login, credentials }];
    await rig.editor.page.evaluate(
      ([appliance, fresh]) => {
        if (!RED.nodes.node('ap3')) RED.nodes.import(appliance);
        const there = RED.nodes.node('ap3');
        if (there) there.changed = true;
        RED.nodes.import([fresh]);
      },
      [nodes, { ...node, ...more, id }] as const,
    );
    await rig.editor.openNode(id);
    return id;
  }

  const keyboard = {
    type: (text: string): Promise<void> => rig.editor.page.keyboard.type(text),
    press: (key: string): Promise<void> => rig.editor.page.keyboard.press(key),
  };
  const click = (name: string): Promise<void> => rig.editor.page.click(`[data-field="${name}"] .gateway-default`);
  const options = async (): Promise<string[]> => {
    await rig.editor.page.waitForSelector('.gateway-list [role="option"]');
    return rig.editor.page.$$eval('.gateway-list [role="option"] > span:first-child', (found) => found.map((one) => one.textContent ?? ''));
  };

  describe('with the default source', () => {
    afterEach(() => rig.editor.cancel());

    it('a field accepts typing after a click and after Tab', async () => {
      await open({ type: 'gateway-trial', operation: 'create' });
      await click('server');
      await keyboard.type('Local 1');
      expect(await rig.editor.field('server')).toEqual({ type: 'str', value: 'Local 1' });
      await rig.editor.page.focus('[data-field="amount"] .gateway-default');
      await keyboard.type('42');
      expect(await rig.editor.field('amount')).toEqual({ type: 'num', value: '42' });
      await click('password');
      await keyboard.type('hunter2');
      expect(await rig.editor.field('password')).toEqual({ type: 'cred', value: 'hunter2' });
    });

    it('a field keeps its default if the user clicks it without typing', async () => {
      await open({ type: 'gateway-trial', operation: 'create' });
      await click('server');
      expect(await rig.editor.complaint('server')).toBe('');
      await click('people');
      expect((await rig.editor.field('server')).type).toBe('default');
      await rig.editor.page.click('#node-input-name');
      expect((await rig.editor.field('people')).type).toBe('default');
    });

    it('a choice field opens its menu and stores the selected value', async () => {
      await open({ type: 'gateway-trial', operation: 'create' });
      await click('mode');
      await rig.editor.page.click('.red-ui-typedInput-options:visible a[value="slow"]');
      expect(await rig.editor.field('mode')).toEqual({ type: 'str', value: 'slow' });
    });

    it('a field restores the default with one click', async () => {
      await open({ type: 'gateway-trial', operation: 'create' });
      await click('server');
      await keyboard.type('x');
      await rig.editor.page.click('[data-field="server"] .gateway-reset');
      expect((await rig.editor.field('server')).type).toBe('default');
      expect(await rig.editor.visible('[data-field="server"] .gateway-reset')).toBe(false);
    });

    it('a click on the label of a field focuses its input, and each input has an accessible name', async () => {
      await open({ type: 'gateway-trial', operation: 'create' });
      await rig.editor.setField('server', { type: 'str', value: 'x' });
      expect(await rig.editor.page.getByLabel('Server', { exact: false }).first().isVisible()).toBe(true);
      const names = await rig.editor.page.$$eval('.gateway-field button, .gateway-field [role="button"]', (controls) =>
        controls.filter((control) => control.checkVisibility()).map((control) => control.getAttribute('aria-label') ?? ''),
      );
      expect(names).not.toContain('');
      const defaults = names.filter((name) => name.endsWith(': default'));
      expect(new Set(defaults).size).toBe(defaults.length);
      expect(defaults.length).toBeGreaterThan(5);
    });
  });

  describe('with names from the appliance', () => {
    it('a lookup field lists matching objects of an undeployed appliance while the user types', async () => {
      const id = await open();
      await click('server');
      expect(await options()).toEqual(['Administrators', 'System Local']);
      await keyboard.type('sys');
      await rig.editor.page.waitForFunction(() => document.querySelectorAll('.gateway-list [role="option"]').length === 1);
      await keyboard.press('ArrowDown');
      await keyboard.press('Enter');
      expect(await rig.editor.field('server')).toEqual({ type: 'str', value: 'System Local' });
      await click('username');
      expect(await options()).toContain('jürgen.müller');
      await rig.editor.page.click('.gateway-list [role="option"]:has-text("contractor1")');
      await rig.editor.done();
      const fields = { server: { type: 'str', value: 'System Local' }, username: { type: 'str', value: 'contractor1' } };
      expect(await rig.editor.exported(id)).toMatchObject({ fields });
      expect((await rig.editor.verdict(id)).errors).toEqual([]);
    });

    it('a lookup field reports which field must be selected first, or which object cannot be read', async () => {
      await open();
      await click('username');
      await rig.editor.page.waitForSelector('.gateway-list-bad');
      expect(await rig.editor.text('.gateway-list-bad b')).toBe('Select Auth server first.');
      await rig.editor.cancel();
      await rig.editor.page.route('**/gateway-appliance/list', (route) =>
        route.fulfill({ json: { ok: false, code: 'FORBIDDEN', message: 'The role may not do this.' } }),
      );
      await open();
      await click('server');
      await rig.editor.page.waitForSelector('.gateway-list-bad');
      expect(await rig.editor.text('.gateway-list-bad b')).toBe('This administrator cannot read: Auth server.');
      await rig.editor.page.unroute('**/gateway-appliance/list');
      await rig.editor.cancel();
    });

    it('a lookup field keeps and marks a missing object, and shows an error if the appliance does not respond', async () => {
      await open({ fields: { server: { type: 'str', value: 'Gone' } } });
      await rig.editor.page.click('[data-field="server"] [data-tool="pick"]');
      expect(await options()).toContain('System Local');
      expect(await rig.editor.text('.gateway-list-note')).toBe('Gone does not exist on the appliance.');
      expect(await rig.editor.field('server')).toEqual({ type: 'str', value: 'Gone' });
      await keyboard.press('Escape');
      expect(await rig.editor.page.locator('.gateway-list').count()).toBe(0);
      await rig.editor.cancel();
      await open({ type: 'gateway-sessions', operation: 'kill-user', appliance: 'ap2' });
      await click('name');
      await rig.editor.page.waitForSelector('.gateway-list-bad');
      expect(await rig.editor.text('.gateway-list-bad b')).toMatch(/\w/);
      await keyboard.type('j.doe');
      expect(await rig.editor.field('name')).toEqual({ type: 'str', value: 'j.doe' });
      await rig.editor.cancel();
    });

    it('a lookup field shows the cached list first, and then the current list', async () => {
      const server = { type: 'str', value: 'System Local' };
      const id = await open({ fields: { server } });
      await rig.editor.done();
      await rig.editor.deploy();
      const look = async (): Promise<void> => {
        await rig.editor.openNode(id);
        await click('username');
      };
      await look();
      expect(await options()).toContain('contractor1');
      await rig.editor.cancel();
      let answer = (): void => undefined;
      const held = new Promise<void>((resolve) => (answer = resolve));
      await rig.editor.page.route('**/gateway-appliance/list', async (route) => {
        await held;
        const body = route.request().postDataJSON() as object;
        await route.continue({ postData: JSON.stringify({ ...body, again: true }) });
      });
      const users = sim.state.configuration
        .collection('authentication', 'auth-servers', 'auth-server')
        .items.get('System Local')
        ?.collection('local', 'users', 'user');
      users?.add({ username: 'a.newcomer' });
      await look();
      const before = await options();
      expect(before).toContain('contractor1');
      expect(before).not.toContain('a.newcomer');
      answer();
      await rig.editor.page.waitForSelector('.gateway-list [role="option"]:has-text("a.newcomer")');
      await rig.editor.page.unroute('**/gateway-appliance/list');
      users?.items.delete('a.newcomer');
      await rig.editor.cancel();
    });

    it('a field with documented values lists these values and accepts others', async () => {
      await open({ type: 'gateway-administrators', operation: 'add-source-ip' });
      await click('access');
      await rig.editor.page.click('.gateway-list [role="option"]:has-text("deny")');
      expect(await rig.editor.field('access')).toEqual({ type: 'str', value: 'deny' });
      await rig.editor.setField('address', { type: 'str', value: '10.0.0.999' });
      expect(await rig.editor.complaint('address')).toMatch(/address/);
      await rig.editor.cancel();
    });
  });

  // Its elements are not Node-RED's: one line is enough.
  describe.skipIf(rig.version === 4)('with a filter', () => {
    it('a filter field shows the filter as conditions, and as JSON after one click', async () => {
      await open({ type: 'gateway-sessions', operation: 'kill-matching' });
      await click('filter');
      await rig.editor.page.waitForSelector('.gateway-condition');
      await rig.editor.page.selectOption('.gateway-condition select >> nth=0', 'source-ip');
      await rig.editor.page.selectOption('.gateway-condition select >> nth=1', 'network');
      await rig.editor.page.fill('.gateway-condition input >> nth=0', '203.0.113.0/24');
      await rig.editor.page.click('.gateway-filter-end button >> nth=0');
      await rig.editor.page.selectOption('.gateway-condition >> nth=1 >> select >> nth=0', 'active-user-name');
      await rig.editor.page.selectOption('.gateway-condition >> nth=1 >> select >> nth=1', 'begins');
      await rig.editor.page.fill('.gateway-condition >> nth=1 >> input', 'j.');
      const filter = { 'source-ip': '203.0.113.0/24', 'active-user-name': 'j.*' };
      expect(JSON.parse((await rig.editor.field('filter')).value)).toEqual(filter);
      await rig.editor.page.click('.gateway-filter-end button >> nth=1');
      expect(await rig.editor.page.locator('.gateway-condition').count()).toBe(0);
      await rig.editor.page.click('[data-field="filter"] [data-tool="filter"]');
      await rig.editor.page.waitForSelector('.gateway-condition');
      expect(await rig.editor.page.inputValue('.gateway-condition >> nth=1 >> input')).toBe('j.');
      // Every field has a name and the picker of such a field. The picker of a list adds to it.
      const first = rig.editor.page.locator('.gateway-condition').first();
      expect(await first.locator('select').first().innerText()).not.toMatch(/^[a-z]/m);
      await first.locator('select').first().selectOption('authentication-realm');
      await first.locator('select').last().selectOption('any');
      await first.locator('input').fill('Contractors');
      await first.locator('.gateway-tool').first().click();
      expect(await options()).toContain('Employees');
      await first.locator('input').fill('Contractors, emp');
      await rig.editor.page.waitForFunction(() => document.querySelectorAll('.gateway-list [role="option"]').length === 1);
      await rig.editor.page.click('.gateway-list [role="option"]:has-text("Employees")');
      expect(JSON.parse((await rig.editor.field('filter')).value)).toMatchObject({ 'authentication-realm': ['Contractors', 'Employees'] });
      await rig.editor.page.waitForFunction(() =>
        /\d+ sessions? match/.test(document.querySelector('.gateway-filter-count')?.textContent ?? ''),
      );
      await rig.editor.done();
    });

    it.each([
      ['{}', /empty/],
      ['{"nope":"x"}', /nope/],
      ['{"source-ip":"10.0.0.999"}', /not an address/],
      ['{"source-ip":"10.0.0.9"}', /^$/],
    ])('a filter field shows the runtime error for the filter %s', async (value, words) => {
      await open({ type: 'gateway-sessions', operation: 'kill-matching', fields: { filter: { type: 'json', value } } });
      expect(await rig.editor.complaint('filter')).toMatch(words);
      await rig.editor.cancel();
    });
  });

  describe('with a path', () => {
    it('a path field browses the tree level by level, and can take a path segment from the message', async () => {
      const id = await open({ type: 'gateway-config', operation: 'get' });
      await rig.editor.page.click('[data-field="path"] [data-tool="tree"]');
      await rig.editor.page.waitForSelector('.gateway-browser');
      const item = (name: string): ReturnType<typeof rig.editor.page.locator> =>
        rig.editor.page.locator('.gateway-tree .red-ui-treeList-label', { has: rig.editor.page.getByText(name, { exact: true }) });
      for (const name of ['users', 'user-roles', 'Büro #1/EU & 50%']) {
        await item(name).click();
        await rig.editor.page.waitForFunction(() => document.querySelector('.gateway-resource pre'));
        await keyboard.press('ArrowRight');
      }
      await rig.editor.page.waitForFunction(() => document.querySelector('.gateway-resource pre')?.textContent?.includes('"general"'));
      expect(await rig.editor.page.inputValue('.gateway-path')).toBe('users/user-roles/user-role/B%C3%BCro%20%231%2FEU%20%26%2050%25');
      await rig.editor.page.click('.gateway-crumbs button >> nth=3');
      expect(await rig.editor.page.inputValue('.gateway-path')).toBe('users/user-roles/user-role/{{payload.name}}');
      expect(await rig.editor.text('.gateway-browser > .gateway-note')).toMatch(
        /chooses the user-role: .* msg\.payload\.name\. Here it was B/,
      );
      await rig.editor.page.click('#gateway-tree-ok');
      await rig.editor.page.waitForSelector('.gateway-browser', { state: 'detached' });
      await rig.editor.done();
      const path = { type: 'str', value: 'users/user-roles/user-role/{{payload.name}}' };
      expect(await rig.editor.exported(id)).toMatchObject({ fields: { path } });
    });

    it.skipIf(rig.version === 4).each([
      [
        'authentication/auth-servers/auth-server/System Local/local/users/user/j.doe',
        [3, 7],
        'authentication/auth-servers/auth-server/{{payload.authServer}}/local/users/user/{{payload.name}}',
      ],
      ['users/user-realms/realm/Staff/rules/rule/Day', [6, 3], 'users/user-realms/realm/{{payload.realm}}/rules/rule/{{payload.name}}'],
      ['a/rule/x/rule/y/z', [2, 4], 'a/rule/{{payload.rule}}/rule/{{payload.rule2}}/z'],
    ])('a path field shows one tag for each segment of %s', async (path, clicks, wanted) => {
      await open({ type: 'gateway-config', operation: 'get' });
      await rig.editor.page.click('[data-field="path"] [data-tool="tree"]');
      await rig.editor.page.fill('.gateway-path', path);
      const shown = (): Promise<string> => rig.editor.page.inputValue('.gateway-path');
      // A click while the tray still moves on a busy machine may hit nothing.
      const press = async (at: number): Promise<void> => {
        const before = await shown();
        while ((await shown()) === before) await rig.editor.page.click(`.gateway-crumbs button >> nth=${at}`);
      };
      for (const at of clicks) await press(at);
      expect(await shown()).toBe(wanted);
      for (const at of clicks) await press(at);
      expect(await shown()).toBe(path);
      await rig.editor.page.click('#gateway-tree-cancel');
      await rig.editor.page.waitForSelector('.gateway-browser', { state: 'detached' });
      await rig.editor.cancel();
    });

    it('a body field loads the current resource into the body, and shows the differences', async () => {
      const path = { type: 'str', value: 'users/user-roles/user-role/Users' };
      await open({ type: 'gateway-config', operation: 'update', fields: { path } });
      await rig.editor.page.click('[data-field="body"] [data-tool="current"]');
      await rig.editor.page.waitForFunction(() => document.querySelector('.gateway-difference')?.textContent?.includes('current values'));
      expect(JSON.parse((await rig.editor.field('body')).value)).toEqual({ name: 'Users', description: '' });
      await rig.editor.setField('body', { type: 'json', value: '{"description":"Day shift"}' });
      // As it is typed, without another press.
      await rig.editor.page.waitForSelector('.gateway-difference ins');
      expect(await rig.editor.text('.gateway-difference')).toMatch(/1 .*\/description "" → "Day shift".*name/);
      await rig.editor.cancel();
      expect(sim.requests.filter(({ method }) => method !== 'GET' && method !== 'POST')).toEqual([]);
    });
  });

  // Its elements are not Node-RED's either.
  describe.skipIf(rig.version === 5)('in the preview', () => {
    afterEach(() => rig.editor.cancel());
    const verdict = async (): Promise<string> => {
      await rig.editor.page.waitForSelector('.gateway-verdict');
      return rig.editor.text('.gateway-verdict');
    };
    const isOpen = (selector: string): Promise<boolean> => rig.editor.page.$eval(selector, (fold) => (fold as HTMLDetailsElement).open);

    it('the preview shows the verdict first, and folds the requests and the sample message if no field comes from it', async () => {
      const server = { type: 'str', value: 'System Local' };
      await open({ fields: { server, username: { type: 'str', value: 'contractor1' } } });
      await rig.editor.page.click('#gateway-preview');
      expect(await verdict()).toMatch(/: would send 1 request\. Nothing was sent now\.$/);
      expect(await isOpen('.gateway-preview-requests')).toBe(false);
      expect(await isOpen('.gateway-preview-message')).toBe(false);
      const isVisible = await rig.editor.page.$eval('.gateway-verdict', (element) => {
        const { top, bottom } = element.getBoundingClientRect();
        return top >= 0 && bottom <= window.innerHeight;
      });
      expect(isVisible).toBe(true);
    });

    it('the preview shows a sample message with an example value for each field that comes from the message', async () => {
      await open();
      await rig.editor.page.click('#gateway-preview');
      await rig.editor.page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>('.gateway-preview-message textarea')?.value);
      expect(await isOpen('.gateway-preview-message')).toBe(true);
      const message = await rig.editor.page.inputValue('.gateway-preview-message textarea');
      expect(Object.keys((JSON.parse(message) as { payload: object }).payload)).toEqual(['server', 'username']);
    });

    it('the first click on Preview after a paste into a field is not lost', async () => {
      await open({ fields: { server: { type: 'str', value: '' }, username: { type: 'str', value: 'contractor1' } } });
      await rig.editor.page.focus('#gateway-field-server-value');
      await rig.editor.page.evaluate(() => document.execCommand('insertText', false, 'System Local'));
      // The row must not wait for blur to remove its error.
      expect(await rig.editor.complaint('server')).toBe('');
      await rig.editor.page.click('#gateway-preview');
      expect(await verdict()).toContain('would send 1 request');
    });
  });

  describe('of a closed node', () => {
    it('the canvas marks a node with a missing field until a wired node can supply the field', async () => {
      const id = await open();
      await rig.editor.done();
      expect((await rig.editor.verdict(id)).errors.join('\n')).toMatch(/^Auth server: no node[^]*User: no node/);
      // As a message would that comes without them.
      const marks = (): Promise<string> =>
        rig.editor.page.evaluate((nodeId) => {
          const badge = document.getElementById(nodeId)?.querySelector('.gateway-marks');
          return badge && !badge.classList.contains('hide') ? (badge.textContent ?? '') : '';
        }, id);
      await expect.poll(marks).toMatch(/^needs Auth ?server, ?User$/);
      const wire = (from: string): Promise<void> =>
        rig.editor.page.evaluate(
          ([source, target]) =>
            RED.nodes.addLink({ source: RED.nodes.node(source as string), sourcePort: 0, target: RED.nodes.node(target as string) }),
          [from, id],
        );
      await wire('stamp');
      expect((await rig.editor.verdict(id)).errors).toHaveLength(2);
      await wire('end');
      expect((await rig.editor.verdict(id)).errors).toEqual([]);
      await rig.editor.page.evaluate(() => RED.view.redraw(true));
      await expect.poll(marks).not.toContain('needs');
    });
  });
});
