// @ts-check
// Takes the pictures in docs/ from a real editor with the examples: `npm run screenshots`.
import { existsSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import process from 'node:process';
import { chromium } from 'playwright-core';
import { ensureBuilt } from './built.mjs';
import { cookbookNames, exampleNames, readExample } from './demo/examples.mjs';
import { startDemo } from './demo/start.mjs';
import { node24 } from './node24.mjs';
import { root } from './tools.mjs';

const MARGIN = 24;

/** Examples that have a page in the cookbook, by their picture; its own flows have their own names. */
const shared = {
  'license-report': 'Report the license leases.json',
  'configuration-changes': 'Mail what has changed.json',
  'rotate-certificate': 'Rotate the device certificate.json',
  approval: 'Approve a change on a page.json',
  'audit-configuration': 'Remove unused roles, with approval.json',
};

/** The picture of an example in docs/pictures/. @param {string} example */
const toPictureName = (example) =>
  `pictures/${basename(example, '.json')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')}.png`;

/** The flow of each picture in docs/. @type {Record<string, string>} */
const pictures = {
  'webhook-flow.png': 'End sessions from a webhook.json',
  ...Object.fromEntries(exampleNames().map((name) => [toPictureName(name), name])),
  ...Object.fromEntries(Object.entries(shared).map(([slug, example]) => [`cookbook/${slug}.png`, example])),
  ...Object.fromEntries(cookbookNames().map((name) => [`cookbook/${basename(name, '.json')}.png`, name])),
};

/**
 * Shows the tab of an example and takes a picture of its nodes.
 * @param {import('playwright-core').Page} page
 * @param {string} example
 * @param {string} file
 */
async function takePicture(page, example, file) {
  const nodes = readExample(example);
  const tab = nodes.find((node) => node.type === 'tab');
  const first = nodes.find((node) => node.z === tab?.id);
  await page.evaluate(`RED.workspaces.show('${tab?.id}')`);
  await page.waitForSelector(`[id="${first?.id}"]`);
  // Status texts and the selection change with each picture.
  await page.evaluate(
    `document.querySelector('#red-ui-notifications')?.remove(); RED.view.select(); document.querySelector('#red-ui-workspace-chart').scrollTo(0, 0)`,
  );
  await page.addStyleTag({
    // A plain background makes a picture half as large.
    content:
      '.red-ui-workspace-chart-grid, .red-ui-flow-node-changed, #red-ui-view-navigator, .red-ui-workspace-footer { display: none !important }',
  });
  const boxes = await page
    .locator('.red-ui-flow-node-group, .red-ui-flow-node')
    .evaluateAll((elements) => elements.map((element) => element.getBoundingClientRect().toJSON()));
  const edge = await page.locator('#red-ui-workspace-chart').evaluate((chart) => chart.getBoundingClientRect().left);
  const left = Math.max(Math.min(...boxes.map((box) => box.left)) - MARGIN, edge);
  const top = Math.min(...boxes.map((box) => box.top)) - MARGIN;
  const width = Math.max(...boxes.map((box) => box.right)) + MARGIN - left;
  const height = Math.max(...boxes.map((box) => box.bottom)) + MARGIN - top;
  await page.screenshot({ path: file, clip: { x: left, y: top, width, height } });
}

const executablePath =
  process.env['CHROMIUM_PATH'] ??
  ['/usr/bin/chromium', '/usr/bin/chromium-headless-shell', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!executablePath) throw new Error('There is no Chromium. Install it, or name it in the environment variable CHROMIUM_PATH.');
ensureBuilt();
const demo = await startDemo({ names: [...exampleNames(), ...cookbookNames()], nodeRed: { version: 5, node: node24() } });
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const page = await browser.newPage({ viewport: { width: 2100, height: 1300 }, deviceScaleFactor: 1 });
  await page.goto(demo.nodeRed.url);
  await page.waitForFunction("!document.querySelector('#red-ui-loading-progress')?.offsetParent && window.RED?.nodes");
  mkdirSync(join(root, 'docs', 'pictures'), { recursive: true });
  for (const [file, example] of Object.entries(pictures)) await takePicture(page, example, join(root, 'docs', file));
  await page.setViewportSize({ width: 1200, height: 760 });
  await page.goto(`${demo.nodeRed.url}/dashboard`);
  await page.waitForSelector('table tbody tr td');
  await page.screenshot({ path: join(root, 'docs', 'cookbook', 'dashboard.png') });
  if (process.argv[2]) await page.screenshot({ path: process.argv[2] });
} finally {
  await browser.close();
  await demo.end();
}
