import { expect, it } from 'vitest';
import { findAxeViolations } from './axe';
import { inBothEditors } from './rig';

inBothEditors('the dialog of a watch node', (rig) => {
  it('the dialog of gateway-watch shows the rows of its kind, reports errors, and stores all values', async () => {
    const watch = { id: 'w1', type: 'gateway-watch', z: 'f1', x: 200, y: 460, appliance: 'ap1', watch: 'health', every: 60, wires: [[]] };
    await rig.editor.import([watch]);
    await rig.editor.openNode('w1');
    const { page } = rig.editor;
    const visible = (name: string) => page.locator(`#node-input-${name}`).isVisible();
    expect(await Promise.all(['limits', 'filter', 'days'].map(visible))).toEqual([true, false, false]);
    await page.fill('#node-input-every', '0');
    expect(await rig.editor.text('[data-error="every"]')).toMatch(/seconds/);
    await page.fill('#node-input-every', '15');
    expect(await rig.editor.text('[data-error="every"]')).toBe('');
    await page.selectOption('#node-input-watch', 'certificate');
    expect(await Promise.all(['limits', 'filter', 'days'].map(visible))).toEqual([false, false, true]);
    await page.fill('#node-input-days', '20, 5');
    await page.selectOption('#node-input-watch', 'configuration');
    expect(await Promise.all(['days', 'path', 'ignore', 'unordered'].map(visible))).toEqual([false, true, true, true]);
    await page.fill('#node-input-unordered', 'rule, /users/user-roles/*/groups');
    // What was entered stays; the usual time goes with the kind.
    expect(await page.inputValue('#node-input-every')).toBe('15');
    await page.fill('#node-input-every', '3600');
    await page.selectOption('#node-input-watch', 'certificate');
    expect(await page.inputValue('#node-input-every')).toBe('60');
    await page.fill('#node-input-every', '15');
    // The builder of a filter, as in the dialog that ends matching sessions.
    await page.selectOption('#node-input-watch', 'sessions');
    await page.click('[data-tool="filter"]');
    await page.fill('.gateway-condition input', 'j.doe');
    expect(JSON.parse(await page.inputValue('#node-input-filter'))).toEqual({ 'active-user-name': 'j.doe' });
    await page.fill('.gateway-condition input', '');
    expect(await page.inputValue('#node-input-filter')).toBe('');
    expect(await page.locator('.gateway-condition .gateway-tool').count()).toBe(2);
    expect(await findAxeViolations(page, '.gateway-form')).toEqual([]);
    expect(await rig.editor.overflowing()).toEqual([]);
    await page.selectOption('#node-input-watch', 'certificate');
    expect(await page.locator('.gateway-condition').count()).toBe(0);
    await page.click('#node-dialog-ok');
    await rig.editor.openNode('w1');
    expect(await page.inputValue('#node-input-watch')).toBe('certificate');
    expect(await page.inputValue('#node-input-days')).toBe('20, 5');
    expect(await page.inputValue('#node-input-every')).toBe('15');
    await page.selectOption('#node-input-watch', 'configuration');
    expect(await page.inputValue('#node-input-unordered')).toBe('rule, /users/user-roles/*/groups');
    await rig.editor.cancel();
  });
});
