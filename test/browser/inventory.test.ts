import { expect, it } from 'vitest';
import { startSimulatedFleet } from '../../src/simulator';
import { tooFaint } from './contrast';
import { inBothEditors } from './rig';

const PICTURES = process.env['GATEWAY_PICTURES'];

inBothEditors('the dialogs of an inventory and of a node that uses it', (rig) => {
  const picture = async (name: string): Promise<void> => {
    if (PICTURES !== undefined) await rig.editor.page.screenshot({ path: `${PICTURES}/${name}-${rig.version}.png` });
  };

  it('the dialogs of an inventory show only the rows of the selected sources, report errors, and store all values and credentials', async () => {
    const { editor } = rig;
    await editor.import([{ id: 'inv1', type: 'gateway-inventory', name: 'ours', source: 'file', file: '', secrets: 'node', sets: '' }]);
    await editor.openNode('inv1');
    const shown = (): Promise<string[]> =>
      editor.page.$$eval('.gateway-form-config input, .gateway-form-config select', (inputs) =>
        inputs.filter((input) => input.checkVisibility()).map((input) => input.id.replace('node-config-input-', '')),
      );
    const common = ['name', 'source', 'file', 'defaults-value', 'tls', 'proxy', 'secrets'];
    expect((await shown()).filter(Boolean)).toEqual([...common, 'sets', 'username', 'password', 'allowedHosts', 'rehearsal']);
    expect(await editor.text('[data-error="file"]')).toMatch(/\.json, \.yaml/);
    await editor.input('node-config-input-secrets', 'environment');
    expect((await shown()).filter(Boolean)).toEqual([...common, 'prefix', 'allowedHosts', 'rehearsal']);
    await editor.input('node-config-input-secrets', 'folder');
    expect((await shown()).filter(Boolean)).toEqual([...common, 'secretsFolder', 'allowedHosts', 'rehearsal']);
    expect(await editor.text('[data-error="secretsFolder"]')).toMatch(/folder/);
    await editor.input('node-config-input-secrets', 'node');
    await editor.input('node-config-input-sets', 'eu eu');
    expect(await editor.text('[data-error="sets"]')).toMatch(/once/);
    await editor.input('node-config-input-sets', 'eu lab');
    expect(await editor.visible('#node-config-input-password_2')).toBe(true);
    expect(await editor.visible('#node-config-input-password_3')).toBe(false);
    await editor.input('node-config-input-source', 'list');
    await editor.set('#node-config-input-list', 'json', '{}');
    expect(await editor.text('[data-error="list"]')).toMatch(/array/);
    const entries = [{ name: 'a', url: 'https://a.example.com', tags: ['eu'] }];
    await editor.set('#node-config-input-list', 'json', JSON.stringify(entries));
    await editor.set('#node-config-input-defaults', 'json', '{"realm": "Other"}');
    for (const [name, value] of Object.entries({ username: 'admin', password: 'planted-1', username_2: 'lab', password_2: 'planted-2' }))
      await editor.input(`node-config-input-${name}`, value);
    expect(await editor.overflowing()).toEqual([]);
    await picture('inventory');
    await editor.done();
    const kept = { source: 'list', sets: 'eu lab', defaults: '{"realm": "Other"}', list: JSON.stringify(entries) };
    expect(await editor.exported('inv1')).toMatchObject({
      ...kept,
      credentials: { username: 'admin', password: 'planted-1', username_2: 'lab', password_2: 'planted-2' },
    });
    await editor.deploy();
    expect(JSON.stringify(rig.read('flows.json'))).not.toContain('planted');
    await editor.reload('tr1');
    await editor.openNode('inv1');
    await editor.page.waitForFunction(
      () => document.querySelector<HTMLInputElement>('#node-config-input-password_2')?.value === '__PWRD__',
    );
    expect(await editor.page.inputValue('#node-config-input-username_2')).toBe('lab');
    await editor.page.waitForFunction(() => /1 appliance is/.test(document.querySelector('.gateway-inventory-state')?.textContent ?? ''));
    expect(await editor.text('.gateway-inventory-state')).toContain('eu (1)');
    await editor.done();
    expect(await editor.exported('inv1')).toMatchObject(kept);
  });

  it('the dialogs of an inventory test all appliances with the values of the dialog, and list failures first', async () => {
    const fleet = await startSimulatedFleet(3);
    try {
      const entries = [...fleet.entries, { name: 'gone', url: 'https://127.0.0.1:1' }];
      const { editor } = rig;
      await editor.openNode('inv1');
      await editor.input('node-config-input-tls', 'tls1');
      await editor.set('#node-config-input-list', 'json', JSON.stringify(entries));
      await editor.set('#node-config-input-defaults', 'json', '{"realm": "Admin Users"}');
      await editor.input('node-config-input-username', 'api-admin');
      // Another address than what is stored was deployed for.
      await editor.page.click('#gateway-test-all');
      await editor.page.waitForSelector('.gateway-table');
      expect(await editor.text('.gateway-table')).toMatch(/Type it again/);
      await editor.input('node-config-input-password', 'simulator');
      await editor.page.click('#gateway-test-all');
      await editor.page.waitForSelector('.gateway-table .fa-check');
      expect(await editor.text('.gateway-test-all-place .gateway-note')).toBe('3 of 4 appliances responded.');
      const rows = await editor.page.$$eval('.gateway-table tr', (all) => all.map((row) => row.textContent ?? ''));
      expect(rows[0]).toMatch(/^gone.*CONNECTION/);
      expect(rows[1]).toMatch(/^vpn-001.*SIM/);
      expect(rows).toHaveLength(4);
      expect(await editor.overflowing()).toEqual([]);
      const seen = (): boolean => {
        const [row, tray] = ['.gateway-table tr:last-child', '.red-ui-tray-body'].map((at) =>
          document.querySelector(at)?.getBoundingClientRect(),
        );
        return row !== undefined && tray !== undefined && row.bottom <= tray.bottom + 1;
      };
      expect(await editor.page.evaluate(seen)).toBe(true);
      await picture('inventory-tested');
      const dark = (on: boolean): Promise<unknown> =>
        editor.page.evaluate((theme) => document.documentElement.classList.toggle('nr-theme-dark', theme), on);
      await dark(rig.version === 5);
      expect(await editor.page.evaluate(tooFaint)).toEqual([]);
      await picture('inventory-tested-dark');
      await dark(false);
      await editor.done();
      await editor.deploy();
    } finally {
      await fleet.close();
    }
  });

  it('the dialogs of an inventory show how many appliances a selection matches, and store the selection', async () => {
    const { editor } = rig;
    await editor.openNode('sessions-list');
    expect(await editor.visible('.gateway-many')).toBe(false);
    await editor.page.check('#gateway-many');
    expect(await editor.visible('.gateway-many')).toBe(true);
    expect(await editor.visible('.gateway-appliance')).toBe(false);
    // The only one there is.
    expect(await editor.page.inputValue('#node-input-inventory')).toBe('inv1');
    expect(await editor.text('.gateway-select-error')).toMatch(/tag:name/);
    await editor.set('#node-input-select', 'str', 'vpn-* !vpn-002');
    await editor.page.waitForFunction(() => /2 of 4/.test(document.querySelector('.gateway-matches')?.textContent ?? ''));
    expect(await editor.text('.gateway-matches')).toContain('vpn-001, vpn-003');
    await editor.page.click('.gateway-pace > summary');
    expect(await editor.page.inputValue('#node-input-atOnce')).toBe('16');
    expect(await editor.page.inputValue('#node-input-data')).toBe('all');
    await editor.input('node-input-batch', 'x');
    expect(await editor.text('.gateway-pace-error')).toMatch(/percentage/);
    const pace = { atOnce: '4', canary: '2', batch: '50%', maxFailures: '10%', maxAppliances: '100', data: 'none' };
    for (const [name, value] of Object.entries(pace)) await editor.input(`node-input-${name}`, value);
    await editor.input('node-input-each', true);
    expect(await editor.overflowing()).toEqual([]);
    await picture('many');
    await editor.done();
    const kept = { inventory: 'inv1', select: 'vpn-* !vpn-002', selectType: 'str', ...pace, each: true };
    const after = await editor.exported('sessions-list');
    expect(after).toMatchObject(kept);
    await editor.openNode('sessions-list');
    expect(await editor.visible('#node-input-canary')).toBe(true);
    await editor.done();
    expect(await editor.exported('sessions-list')).toEqual(after);
    await editor.openNode('sessions-list');
    await editor.page.uncheck('#gateway-many');
    expect(await editor.visible('.gateway-appliance')).toBe(true);
    await editor.done();
    expect(await editor.exported('sessions-list')).toMatchObject({ inventory: '', appliance: 'ap1' });
  });

  it('the dialogs of an inventory let a message select appliances only if the checkbox allows it', async () => {
    const { editor } = rig;
    await editor.openNode('sessions-kill-user');
    await editor.page.check('#gateway-many');
    expect(await editor.visible('#node-input-allowDestroy')).toBe(false);
    await editor.set('#node-input-select', 'msg', 'select');
    expect(await editor.visible('#node-input-allowDestroy')).toBe(true);
    await editor.input('node-input-allowDestroy', true);
    await editor.done();
    expect(await editor.exported('sessions-kill-user')).toMatchObject({ select: 'select', selectType: 'msg', allowDestroy: true });
  });
});
