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
  let chosen = 0;
  /** Kinds of object that were picked from the list of the appliance: each once in each language. */
  const picked = new Set<string>();
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
    it('the dialogs in %s store values, have all texts, do not overflow, and have enough contrast', async () => {
      await enter(language);
      picked.clear();
      // Neighbors belong to the same area, so that few dialogs have to be opened.
      const all = rig.operations().filter(([area]) => area.name !== 'trial');
      const part = Object.keys(LANGUAGES).indexOf(language) + (rig.version === 5 ? 3 : 0);
      const mine = all.slice(Math.floor((part * all.length) / 6), Math.floor(((part + 1) * all.length) / 6));
      expect(mine.length).toBeGreaterThan(10);
      for (const [at, area] of [...new Set(mine.map(([one]) => one))].entries()) {
        const operations = mine.filter(([one]) => one === area);
        const dark = rig.version === 5 && at % 2 === 1;
        await rig.editor.page.evaluate((on) => document.documentElement.classList.toggle('nr-theme-dark', on), dark);
        // One dialog for each area: the user selects one operation after another.
        const node = idOf(area, operations[0]?.[1] ?? '');
        await rig.editor.openNode(node);
        let wanted: Record<string, Entry> = {};
        for (const [, name, fields] of operations) {
          const id = idOf(area, name);
          if (id !== node) await rig.editor.chooseOperation(name);
          expect((await rig.editor.shownFields()).sort(), id).toEqual(Object.keys(fields).sort());
          wanted = {};
          for (const [field, { names }] of Object.entries(fields)) {
            if (names === undefined || names === 'path' || picked.has(names)) continue;
            const entry = await pick(field);
            if (!entry) continue;
            picked.add(names);
            chosen += 1;
            wanted[field] = entry;
          }
          const text = await rig.editor.text('.gateway-form');
          expect(text, id).toContain(word);
          expect(text, id).not.toMatch(/\b(?:operation|field|action|source|check)\.[\w-]+(?:\.[\w-]+)*\b(?!\()/);
          expect(await rig.editor.overflowing(), id).toEqual([]);
          expect(await rig.editor.page.evaluate(tooFaint), `${id}, dark: ${dark}`).toEqual([]);
          if (PICTURES !== undefined && at % 5 === 0)
            await rig.editor.page.screenshot({ path: `${PICTURES}/${language}-${id}-${rig.version}${dark ? '-dark' : ''}.png` });
        }
        await rig.editor.done();
        expect((await rig.editor.exported(node)).fields, node).toMatchObject(wanted);
        if (Object.keys(wanted).length === 0) continue;
        await rig.editor.openNode(node);
        expect(await rig.editor.fields(Object.keys(wanted)), node).toEqual(wanted);
        await rig.editor.cancel();
      }
      await rig.editor.page.evaluate(() => document.documentElement.classList.remove('nr-theme-dark'));
      expect(heard.splice(0)).toEqual([]);
    }, 600_000);
  });

  it('the lists of the appliance had values for the dialogs in other languages', () => {
    expect(chosen).toBeGreaterThan(3);
  });
});
