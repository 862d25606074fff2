import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startNodeRed, type NodeRed } from '../../scripts/demo/node-red.mjs';
import { node24 } from '../../scripts/node24.mjs';
import { root } from '../../scripts/tools.mjs';
import { startSimulator, type Simulator } from '../../src/simulator';
import { chromiumPath } from './editor';

/** A step of *Connect an appliance*, as it stands in docs/guide/connecting.md. */
function step(number: number): string {
  const section = /## Steps\n([^]*?)\n## /.exec(readFileSync(join(root, 'docs', 'guide', 'connecting.md'), 'utf8'))?.[1] ?? '';
  return new RegExp(`^${number}\\. ([^]*?)(?=^${number + 1}\\. |$(?![^]))`, 'm').exec(section)?.[1] ?? '';
}

/** What a step calls by its label: what is between stars, but for what is a title. */
const labels = (text: string): string[] => [...text.replace(/\*\*.*?\*\*/g, '').matchAll(/\*([^*]+)\*/g)].map(([, label = '']) => label);

// The steps of the guide, word for word, in a Node-RED that holds nothing.
describe.skipIf(chromiumPath() === undefined).each([
  { version: 4 as const, node: () => process.execPath },
  { version: 5 as const, node: node24 },
])('the steps of docs/guide/connecting.md in an empty Node-RED $version', ({ version, node }) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-readme-'));
  let simulator: Simulator;
  let nodeRed: NodeRed;
  let browser: Browser;
  let page: Page;
  const dialog = () => page.locator('.red-ui-tray').last();
  const row = (label: string) =>
    dialog()
      .locator('.form-row', { has: page.locator('label', { hasText: new RegExp(`^\\s*${label}\\s*$`) }) })
      .first();
  const enter = (label: string, value: string) => row(label).locator('input').first().fill(value);

  beforeAll(async () => {
    simulator = await startSimulator();
    writeFileSync(join(folder, 'ca.pem'), simulator.ca);
    nodeRed = await startNodeRed({ userDir: join(folder, 'user'), version, node: node(), flows: [] });
    browser = await chromium.launch({ executablePath: chromiumPath() ?? '', args: ['--no-sandbox'] });
    page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
    await page.goto(nodeRed.url);
    await page.waitForSelector('.red-ui-palette-node[data-palette-type="gateway-sessions"]');
    await page.waitForSelector('#red-ui-loading-progress', { state: 'hidden' });
  });
  afterAll(async () => {
    await browser?.close();
    await nodeRed?.stop();
    await simulator?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('step 2 of the quick start adds the appliance node with the plus button', async () => {
    expect(step(2)).toContain(
      "Drag a node of the palette's category *gateway* into the workspace, double-click it, press the plus beside *Appliance*",
    );
    expect(labels(step(2))).toEqual(['gateway', 'Appliance', 'URL', 'Realm', 'User', 'Password']);
    const palette = page.locator('#red-ui-palette-container-gateway .red-ui-palette-node[data-palette-type="gateway-sessions"]');
    await palette.scrollIntoViewIfNeeded();
    await palette.dragTo(page.locator('#red-ui-workspace-chart'), { targetPosition: { x: 300, y: 200 } });
    await page.locator('.red-ui-flow-node .red-ui-flow-node-label').first().dblclick({ force: true });
    await page.waitForSelector('.red-ui-tray .gateway-form');
    await page.locator('#node-input-btn-appliance-add').click();
    await page.waitForSelector('.gateway-form-config');
    const { username, password, realm } = simulator.state.settings;
    const values: Record<string, string> = { URL: simulator.url, Realm: realm, User: username, Password: password };
    for (const [label, value] of Object.entries(values)) await enter(label, value);
  });

  it('step 3 of the quick start adds the CA certificate with the plus button beside TLS', async () => {
    expect(step(3)).toContain("press the plus beside *TLS* and give that authority's *CA Certificate* (PEM)");
    await page.locator('#node-config-input-btn-tls-add').click();
    await page.waitForSelector('#node-config-input-cafile', { state: 'attached' });
    await row('CA Certificate').locator('input[type=file]').setInputFiles(join(folder, 'ca.pem'));
    await page.locator('#node-config-dialog-ok').last().click();
    await page.waitForSelector('#node-config-input-cafile', { state: 'detached' });
  });

  it('step 5 of the quick start tests the connection without a deploy', async () => {
    expect(step(5)).toMatch(/^\*\*Test connection\*\*/);
    await page.getByRole('button', { name: 'Test connection' }).click();
    await page.waitForFunction(
      (host) => document.querySelector('.gateway-test-result')?.textContent?.includes(host),
      simulator.state.settings.name,
    );
    expect(simulator.logins).toBe(1);
    await page.locator('#node-config-dialog-ok').click();
    await page.waitForSelector('.gateway-form-config', { state: 'detached' });
    await page.locator('#node-dialog-ok').click();
    await page.waitForSelector('.red-ui-tray', { state: 'detached' });
  });
});
