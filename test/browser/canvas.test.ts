import { expect, it } from 'vitest';
import { tooFaint } from './contrast';
import { idOf, inBothEditors, TRIAL } from './rig';

declare const RED: {
  nodes: { import(nodes: unknown[]): void; node(id: string): unknown; getType(type: string): { onadd(this: object): void } };
  view: { redraw(all: boolean): void };
  utils: { getNodeLabel(node: unknown): string };
};

/** Of a type, as far as labels are asked of it. */
interface Labels {
  outputs: number;
  inputLabels(this: unknown): string;
  outputLabels(this: unknown, index: number): string;
}

inBothEditors('the canvas and the palette', (rig) => {
  /** The visible text of the badge of a node. */
  const readBadge = (id: string): Promise<string> =>
    rig.editor.page.evaluate((nodeId) => {
      const badge = document.getElementById(nodeId)?.querySelector('.gateway-marks');
      return badge && !badge.classList.contains('hide') ? (badge.textContent ?? '') : '';
    }, id);

  it('the dialogs of the nodes have enough contrast in light and dark', async () => {
    const themes = rig.version === 5 ? [false, true] : [false];
    for (const dark of themes) {
      await rig.editor.page.evaluate((on) => document.documentElement.classList.toggle('nr-theme-dark', on), dark);
      await rig.editor.openNode('sessions-kill-matching');
      await rig.editor.page.click('[data-field="filter"] [data-tool="filter"]');
      await rig.editor.page.waitForSelector('.gateway-condition');
      await rig.editor.setField('max', { type: 'num', value: 'x' });
      expect(await rig.editor.page.evaluate(tooFaint), `dark: ${dark}`).toEqual([]);
      await rig.editor.cancel();
      await rig.editor.openNode('ap1');
      await rig.editor.input('node-config-input-url', 'ftp://x');
      expect(await rig.editor.page.evaluate(tooFaint), `dark: ${dark}`).toEqual([]);
      await rig.editor.cancel();
    }
    await rig.editor.page.evaluate(() => document.documentElement.classList.remove('nr-theme-dark'));
  });

  it('the error below a field is readable in a dark theme of the community, which keeps the red of the light theme', async () => {
    await rig.editor.openNode('sessions-kill-matching');
    await rig.editor.page.evaluate(() => {
      const colors = { 'primary-text-color': '#ccc', 'secondary-background': '#252525', 'text-color-error': '#ad1625' };
      for (const [name, color] of Object.entries(colors)) document.documentElement.style.setProperty(`--red-ui-${name}`, color);
    });
    await rig.editor.setField('max', { type: 'num', value: 'x' });
    expect(await rig.editor.complaint('max')).not.toBe('');
    const faint = await rig.editor.page.evaluate(tooFaint);
    expect(faint.filter((text) => text.includes('gateway-error'))).toEqual([]);
    await rig.editor.cancel();
    await rig.editor.page.evaluate(() => document.documentElement.removeAttribute('style'));
  });

  it.each([
    [
      'gateway-sessions',
      { operation: 'kill-user', fields: { name: { type: 'str', value: 'j.doe' } } },
      "End j.doe's sessions",
      '⚠ destroys',
    ],
    [
      'gateway-config',
      { operation: 'get', fields: { path: { type: 'str', value: 'users/user-roles/user-role/B%C3%BCro' } } },
      'Get …/Büro',
      '',
    ],
    ['gateway-config', { operation: 'delete', dryRun: true, fields: {} }, 'Delete a resource: vpn-1', '⚠ destroys · dry run · need…'],
    ['gateway-backup', { operation: 'run' }, 'Back up vpn-1', ''],
    [
      'gateway-users',
      { operation: 'disable', fields: { username: { type: 'msg', value: 'x' } }, name: 'My own' },
      'My own',
      'needs Auth server',
    ],
    [
      'gateway-sessions',
      { operation: 'kill-all', name: 'End what is old', approval: true },
      'End what is old',
      '⚠ destroys · needs approval',
    ],
    [
      'gateway-users',
      { operation: 'create', fields: { 'password-cleartext': { type: 'cred', value: '' }, username: { type: 'str', value: 'a/b <c>' } } },
      'Create a/b <c>',
      'needs Auth server',
    ],
  ])('a node on the canvas that is %s has the label %s and a badge with its warning marks', async (type, more, label, marks) => {
    const id = `label-${label.length}-${type}`;
    await rig.editor.page.evaluate((node) => RED.nodes.import([node]), { ...TRIAL, wires: [[]], type, id, ...more });
    expect(await rig.editor.page.evaluate((of) => RED.utils.getNodeLabel(RED.nodes.node(of)), id)).toBe(label);
    await rig.editor.page.evaluate(() => {
      RED.view.redraw(true);
    });
    await expect.poll(() => readBadge(id)).toBe(marks);
  });

  it('nodes in the editor show translated labels and port labels for every operation', async () => {
    const seen = await rig.editor.page.evaluate(
      (ids) =>
        ids.map((id) => {
          const node = RED.nodes.node(id) as Record<string, unknown> & { _def: Labels };
          const as = (more: object): unknown => ({ ...node, ...more });
          const label = (more: object): string => RED.utils.getNodeLabel(as(more));
          const ports = as({ failures: 'output', approval: true });
          return {
            plain: label({}),
            input: node._def.inputLabels.call(node),
            outputs: Array.from({ length: node._def.outputs }, (_, at) => node._def.outputLabels.call(ports, at)),
          };
        }),
      rig.operations().map(([area, name]) => idOf(area, name)),
    );
    const badges = await Promise.all(rig.operations().map(([area, name]) => readBadge(idOf(area, name))));
    rig.operations().forEach(([area, name], at) => {
      const { effect } = area.operations[name] ?? {};
      const { plain, input, outputs } = seen[at] ?? { plain: '', input: '', outputs: [] };
      const id = idOf(area, name);
      expect(plain, id).toMatch(/^[A-Z][^_]{2,70}$/);
      expect(plain, id).not.toMatch(/\.(operation|title|field)\.|needs/);
      expect(badges[at]?.includes('⚠') ?? false, id).toBe(effect === 'destroy');
      expect(input, id).toBe('message');
      const writes = Object.values(area.operations).some((one) => one.effect !== 'read') && area.dryRun !== false;
      expect(outputs, id).toEqual(['result', 'failure', ...(area.events ? ['event'] : []), ...(writes ? ['to approve'] : [])]);
    });
  });

  it('a new node gets the appliance that its tab uses most, or none if two are used equally', async () => {
    const use = (id: string, appliance: string): object => ({
      ...TRIAL,
      id,
      z: 'f7',
      type: 'gateway-system',
      operation: 'info',
      appliance,
      wires: [[]],
    });
    await rig.editor.import([{ id: 'f7', type: 'tab', label: 'Third' }, use('most1', 'ap2'), use('most2', 'ap2'), use('most3', 'ap1')]);
    const placed = (z: string): Promise<unknown> =>
      rig.editor.page.evaluate((tab) => {
        const node = { id: 'fresh', z: tab, type: 'gateway-users', appliance: '' };
        // As Node-RED does with what is dropped there.
        RED.nodes.getType('gateway-users').onadd.call(node);
        return node.appliance;
      }, z);
    expect(await placed('f7')).toBe('ap2');
    expect(await placed('f1')).toBe('ap1');
    expect(await placed('f9')).toBe('');
  });

  it('the palette finds nodes by common search words', async () => {
    const found = async (word: string): Promise<string[]> => {
      await rig.editor.page.fill('#red-ui-palette-search input', '');
      await rig.editor.page.locator('#red-ui-palette-search input').pressSequentially(word);
      await rig.editor.page.waitForFunction(
        () => !document.querySelector('.red-ui-palette-node[data-palette-type="inject"]')?.checkVisibility(),
      );
      return rig.editor.page.$$eval('.red-ui-palette-node', (nodes) =>
        nodes.filter((node) => node.checkVisibility()).map((node) => node.getAttribute('data-palette-type') ?? ''),
      );
    };
    for (const [word, type] of [
      ['kill', 'sessions'],
      ['disable', 'users'],
      ['health', 'system'],
      ['export', 'transfer'],
      ['radius', 'policy'],
      ['backup', 'backup'],
      ['user', 'users'],
      ['ldap', 'groups'],
      ['admin', 'administrators'],
      ['licence', 'license'],
      ['csr', 'certificates'],
      ['failover', 'cluster'],
      ['otp', 'login'],
      ['curl', 'request'],
      ['drift', 'snapshot'],
      ['audit', 'journal'],
      ['alert', 'watch'],
      ['quarantine', 'contain'],
      ['setting', 'config'],
    ] as const)
      // The list follows a moment after the last key.
      await expect.poll(() => found(word), { message: word, timeout: 20_000 }).toContain(`gateway-${type}`);
    await expect.poll(async () => (await found('vpn')).length, { timeout: 20_000 }).toBeGreaterThan(10);
    await rig.editor.page.fill('#red-ui-palette-search input', '');
  });
});
