import { expect, it } from 'vitest';
import { inBothEditors } from './rig';

declare const RED: { sidebar: { help: { show(type: string): void } } };
declare const $: (selector: string) => { typedInput(method: 'value', value: string): void };

const TYPE = 'gateway-sessions';

inBothEditors('the sidebar help', (rig) => {
  const asked: string[] = [];
  /** How far the heading of an operation is from the top of what is shown; undefined where it is below it. */
  const headingAt = (label: string): Promise<number | undefined> =>
    rig.editor.page.evaluate((text) => {
      const heading = [...document.querySelectorAll('.red-ui-help h4')].find((element) => element.textContent?.trim() === text);
      let scrolled = heading?.parentElement;
      while (scrolled && !/auto|scroll/.test(getComputedStyle(scrolled).overflowY)) scrolled = scrolled.parentElement;
      const pane = scrolled?.getBoundingClientRect();
      const top = heading?.getBoundingClientRect().top;
      if (top === undefined || !pane) return undefined;
      return top < pane.bottom ? Math.abs(top - pane.top) : undefined;
    }, label);

  it('the full help is not part of the page before it is opened', async () => {
    rig.editor.page.on('request', (request) => asked.push(request.url()));
    await rig.editor.reload('tr1');
    await rig.editor.page.waitForTimeout(500);
    expect(asked.filter((url) => url.includes('/help'))).toEqual([]);
    const shown = await rig.editor.page.locator(`script[data-help-name="${TYPE}"]`).innerHTML();
    expect(shown).toMatch(/^\s*<p>Lists the active user sessions/);
    expect(shown.length).toBeLessThan(300);
  });

  it('the full help loads completely when it is first opened, and scrolls to the selected operation', async () => {
    await rig.editor.openNode('sessions-kill-user');
    await rig.editor.page.evaluate((type) => RED.sidebar.help.show(type), TYPE);
    await rig.editor.page.waitForSelector(".red-ui-help h4:has-text('End matching sessions')");
    await expect.poll(() => headingAt("End a user's sessions")).toBeLessThan(60);
    expect(await rig.editor.page.locator('.red-ui-help .gateway-more').count()).toBe(0);
    expect(await rig.editor.page.locator('.red-ui-help pre').count()).toBeGreaterThan(8);

    await rig.editor.page.evaluate(() => $('#node-input-operation').typedInput('value', 'kill-matching'));
    await expect.poll(() => headingAt('End matching sessions')).toBeLessThan(60);
    await rig.editor.page.evaluate(() => $('#node-input-operation').typedInput('value', 'list'));
    await expect.poll(() => headingAt('List sessions')).toBeLessThan(60);
    await rig.editor.cancel();
    expect(asked.filter((url) => url.includes('gateway-appliance/help'))).toHaveLength(1);
  });
});
