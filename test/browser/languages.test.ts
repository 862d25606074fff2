import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator';
import type { Entry } from './editor';
import { tooFaint } from './contrast';
import { idOf, inBothEditors } from './rig';

declare const RED: { nodes: { node(id: string): object | null } };

const PICTURES = process.env['GATEWAY_PICTURES'];
const LANGUAGES = { de: 'Ausgabe', ja: '出力', 'zh-CN': '输出' };

/**
 * Every dialog is opened here in another language, in one line of Node-RED and one theme, filled from what is on the appliance, saved, and
 * opened again if there was something; dialogs.test.ts opens each in English in both.
 */
inBothEditors('the dialogs in other languages', (rig) => {
  let sim: Simulator;
  const heard: string[] = [];
  beforeAll(async () => {
    sim = await startSimulator({ sessions: 40, cluster: 'active-passive' });
    const { page } = rig.editor;
    const own = new URL(page.url()).origin;
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') heard.push(message.text());
    });
    page.on('request', (request) => {
      if (/^https?:/.test(request.url()) && !request.url().startsWith(own)) heard.push(request.url());
    });
  });
  afterAll(() => sim.close());

  /** The appliance that all nodes of the rig use becomes the simulator, as if somebody had just entered it. */
  const enter = (language: string): Promise<void> =>
    rig.editor.page
      .evaluate((wanted) => localStorage.setItem('editor-language', wanted), language)
      .then(() => rig.editor.reload('tr1'))
      .then(() =>
        rig.editor.page.evaluate((url) => {
          const credentials = { username: 'api-admin', password: 'simulator' };
          Object.assign(RED.nodes.node('ap1') ?? {}, { url, tls: 'tls1', secondFactor: 'none', credentials, changed: true });
        }, sim.url),
      );

  /** The first that the field's list has; undefined where this appliance has none. */
  async function pick(name: string): Promise<Entry | undefined> {
    const { page } = rig.editor;
    await rig.editor.setField(name, { type: 'default', value: '' });
    await page.click(`[data-field="${name}"] .gateway-default`);
    await page.waitForFunction(
      () =>
        document.querySelector('.gateway-list [role="option"]') ??
        !/…|\.\.\.$/.test(document.querySelector('.gateway-list-note')?.textContent ?? '…'),
    );
    const first = page.locator('.gateway-list [role="option"]').first();
    if ((await first.count()) > 0) {
      await first.click();
      return rig.editor.field(name);
    }
    await page.keyboard.press('Escape');
    return undefined;
  }

  describe.each(Object.entries(LANGUAGES))('%s', (language, word) => {
    it('the dialogs in %s store all values, have all texts, do not overflow, and have enough contrast', async () => {
      await enter(language);
      const line = rig.version === 5 ? 1 : 0;
      const mine = rig
        .operations()
        .filter(([area]) => area.name !== 'trial')
        .filter((_operation, at) => at % 2 === line && Math.floor(at / 2) % 3 === Object.keys(LANGUAGES).indexOf(language));
      expect(mine.length).toBeGreaterThan(10);
      let chosen = 0;
      for (const [at, [area, name, fields]] of mine.entries()) {
        const id = idOf(area, name);
        const dark = rig.version === 5 && at % 2 === 1;
        await rig.editor.page.evaluate((on) => document.documentElement.classList.toggle('nr-theme-dark', on), dark);
        await rig.editor.openNode(id);
        expect((await rig.editor.shownFields()).sort(), id).toEqual(Object.keys(fields).sort());
        const wanted: Record<string, Entry> = {};
        for (const [field, { names }] of Object.entries(fields)) {
          const entry = names === undefined || names === 'path' ? undefined : await pick(field);
          if (entry) wanted[field] = entry;
        }
        chosen += Object.keys(wanted).length;
        const text = await rig.editor.text('.gateway-form');
        expect(text, id).toContain(word);
        expect(text, id).not.toMatch(/\b(?:operation|field|action|source|check)\.[\w-]+(?:\.[\w-]+)*\b(?!\()/);
        expect(await rig.editor.overflowing(), id).toEqual([]);
        expect(await rig.editor.page.evaluate(tooFaint), `${id}, dark: ${dark}`).toEqual([]);
        if (PICTURES !== undefined && at % 5 === 0)
          await rig.editor.page.screenshot({ path: `${PICTURES}/${language}-${id}-${rig.version}${dark ? '-dark' : ''}.png` });
        await rig.editor.done();
        expect((await rig.editor.exported(id)).fields, id).toMatchObject(wanted);
        if (Object.keys(wanted).length === 0) continue;
        await rig.editor.openNode(id);
        expect(await rig.editor.fields(Object.keys(wanted)), id).toEqual(wanted);
        await rig.editor.cancel();
      }
      await rig.editor.page.evaluate(() => document.documentElement.classList.remove('nr-theme-dark'));
      expect(chosen).toBeGreaterThan(3);
      expect(heard.splice(0)).toEqual([]);
    }, 600_000);
  });
});
