import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemo, USER, type Demo } from '../../scripts/demo/start.mjs';
import { node24 } from '../../scripts/node24.mjs';
import { chromiumPath, collectPageErrors } from './editor';

const AUDIT = 'Audit of a fleet on a dashboard page.json';
const names = ['Dashboard.json', AUDIT, 'List the sessions of a realm.json'];

describe.skipIf(chromiumPath() === undefined).each([4, 5] as const)('the dashboard in Node-RED %i', (version) => {
  let demo: Demo;
  let browser: Browser;
  let page: Page;
  let complaints: string[] = [];

  beforeAll(async () => {
    demo = await startDemo({ names, nodeRed: { version, ...(version === 5 && { node: node24() }) } });
    browser = await chromium.launch({ executablePath: chromiumPath() ?? '', args: ['--no-sandbox'] });
    page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
    page.setDefaultTimeout(60_000);
    complaints = collectPageErrors(page);
  });
  afterAll(async () => {
    await browser.close();
    await demo.end();
  });

  const open = (path: string) => page.goto(`${demo.nodeRed.url}/dashboard${path}`);
  const group = (title: string) => page.locator('.nrdb-ui-group').filter({ has: page.locator('.v-card-title', { hasText: title }) });
  const rows = (title: string, text: string) => group(title).locator('tbody tr', { hasText: text });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  /** What a notification says or asks. */
  const asked = (text: string | RegExp) => page.locator('.v-snackbar__wrapper', { hasText: text });
  const theirs = () => demo.simulator.state.sessions.findNumbers({ name: USER, prefix: false }).length;

  it('the dashboard finds a user, asks for confirmation, ends a session, and removes the session from the table', async () => {
    await open('');
    await rows('Sessions', 'anna.weber').first().waitFor();
    await page.getByRole('textbox', { name: 'Search' }).fill(USER);
    const own = rows('Sessions', USER);
    await expect.poll(() => own.count()).toBe(3);
    expect(await rows('Sessions', 'anna.weber').count()).toBe(0);
    const before = demo.simulator.state.sessions.ids();
    const address = await own.nth(1).locator('td').nth(1).innerText();

    const end = own.nth(1).getByRole('button', { name: 'End' });
    await end.click();
    await asked(`End the session of ${USER} from ${address}?`).getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => button('Cancel').count()).toBe(0);
    expect(demo.simulator.state.sessions.ids()).toEqual(before);

    await end.click();
    await asked('End the session').getByRole('button', { name: 'End the session' }).click();
    await expect.poll(() => own.count(), { timeout: 60_000 }).toBe(2);
    expect(await own.filter({ hasText: address }).count()).toBe(0);
    expect(demo.simulator.state.sessions.ids().length).toBe(before.length - 1);
    expect(theirs()).toBe(2);
    await asked(`Ended 1 of 1 sessions: ${USER}.`).waitFor();
  });

  it('the dashboard updates the sessions automatically', async () => {
    const id = demo.simulator.state.sessions.add({ 'active-user-name': USER, 'source-ip': '192.0.2.44' });
    await rows('Sessions', '192.0.2.44').waitFor();
    demo.simulator.state.sessions.end(id);
    await rows('Sessions', '192.0.2.44').waitFor({ state: 'detached' });
  });

  it('the dashboard contains a user, shows the containment, and releases the user', async () => {
    await rows('Sessions', USER).first().getByRole('button', { name: 'Keep out' }).click();
    await asked(`Keep ${USER} out for an hour?`).getByRole('button', { name: 'Keep out' }).click();
    await rows('Kept out', USER).waitFor();
    expect(theirs()).toBe(0);
    demo.simulator.state.sessions.add({ 'active-user-name': USER });
    await asked(`${USER} came back; the session was ended.`).waitFor();
    expect(theirs()).toBe(0);
    await button('Release').click();
    await rows('Kept out', USER).waitFor({ state: 'detached' });
  });

  it('the dashboard shows health with its history, licenses, and the cluster', async () => {
    await expect.poll(() => group('Health').innerText()).toMatch(/Processor[^]*7[^]*Swap[^]*Seen at \d\d:\d\d:\d\d [+-]\d\d:\d\d/);
    expect(await group('Health').locator('canvas').count()).toBe(2);
    await rows('Licenses', 'Concurrent Users').filter({ hasText: '300' }).waitFor();
    await rows('Cluster', 'gateway-1-b').waitFor();
  });

  it('the dashboard creates, verifies, and restores a backup after a dry run', async () => {
    await open('/backups');
    await button('Back up now').click();
    const check = group('Backups').getByRole('button', { name: 'Check' });
    await check.first().click();
    await asked('1 of 1 backups').waitFor();
    const { length } = demo.simulator.requests;
    const imports = () => demo.simulator.requests.slice(length).filter(({ path }) => path.endsWith('/import-xml')).length;
    await group('Backups').getByRole('button', { name: 'Restore' }).first().click();
    const question = asked(/Would restore the backup [^]*POST \/api\/v1\/system\/maintenance\/import-xml/);
    await question.waitFor();
    expect(imports()).toBe(0);
    await question.getByRole('button', { name: 'Restore' }).click();
    await asked('Restored the backup').waitFor();
    expect(imports()).toBe(1);
    // Another one was made before.
    await expect.poll(() => check.count(), { timeout: 60_000 }).toBe(2);
  });

  it('the dashboard shows the journal entries of all changes', async () => {
    await rows('Journal', 'backup.restore').waitFor();
    expect(await rows('Journal', 'sessions.kill').innerText()).toMatch(new RegExp(`DELETE ${USER}[^]*End the session`));
    expect(await rows('Journal', 'contain.keep').count()).toBe(1);
  });

  it('the dashboard shows the findings of an audit of all appliances', async () => {
    await open('/audit');
    await button('Audit now').click();
    await rows('Findings', 'admin-realm-open').first().waitFor();
    expect(await rows('Findings', 'high').count()).toBeGreaterThan(0);
    for (const name of ['berlin-1', 'berlin-2', 'boston-1'])
      expect(await rows('Appliances', name).innerText()).toMatch(/\s7\s+0\s+\d+\s+0\s*$/);
  });

  it('the dashboard shows an error message for a failure', async () => {
    await open('');
    demo.simulator.fault({ match: ({ method }) => method === 'DELETE', status: 422 });
    await rows('Sessions', 'anna.weber').first().getByRole('button', { name: 'End' }).click();
    await asked('End the session').getByRole('button', { name: 'End the session' }).click();
    await asked(/422|refused/).waitFor();
  });

  it('the dashboard uses the dark theme of the system, and shows cards instead of tables on a phone', async () => {
    const background = () =>
      page.evaluate(() => getComputedStyle(document.querySelector('.nrdb-ui-group .v-card') as Element).backgroundColor);
    const light = await background();
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(background).not.toBe(light);
    await page.setViewportSize({ width: 420, height: 900 });
    await page.locator('.nrdb-table--mobile').first().waitFor();
    // Nothing is wider than the screen.
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(420);
    expect(complaints).toEqual([]);
  });
});
