import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { post } from '../../scripts/demo/check.mjs';
import { watchDebug } from '../../scripts/demo/debug.mjs';
import { needsDashboard } from '../../scripts/demo/dashboard.mjs';
import { exampleNames, readExample, waitsForCode, type FlowNode } from '../../scripts/demo/examples.mjs';
import { LEAVER } from '../../scripts/demo/lively.mjs';
import { startDemo, TOKEN, USER } from '../../scripts/demo/start.mjs';
import { root } from '../../scripts/tools.mjs';
import { areas } from '../../src/areas';
import { selfSigned } from '../../src/simulator';
import { appliances } from './appliances';
import { approval } from './approval';
import { audits } from './audits';
import { backups } from './backups';
import { events } from './events';
import { first } from './first';
import { fleet } from './fleet';
import { login } from './login';
import { people } from './people';
import { response } from './response';
import { snapshots } from './snapshots';
import { desired } from './desired';
import { authority, BUNDLE_PASSWORD, inject, type Outcomes, type Running } from './running';

/** The check of each example. A new example needs an entry in one of these. */
const outcomes: Outcomes = {
  ...first,
  ...approval,
  ...audits,
  ...people,
  ...appliances,
  ...backups,
  ...snapshots,
  ...desired,
  ...login,
  ...events,
  ...response,
  ...fleet,
};

/** The dashboard polls by itself, so browser/dashboard.test.ts tests it in a separate Node-RED. */
const together = exampleNames().filter((name) => !needsDashboard(name));

const wanted = ['gateway-appliance', 'gateway-inventory', 'gateway-watch', ...areas.map((area) => `gateway-${area.name}`)];

describe.each(exampleNames())('%s', (example) => {
  const nodes = readExample(example);

  it('every example flow uses only nodes of Node-RED and of this package', () => {
    // The dashboard example uses nodes from the palette; a browser test covers it.
    const page = needsDashboard(example) ? ['trigger', 'link in', 'link out'] : [];
    const core =
      'tab,comment,junction,tls-config,inject,debug,catch,complete,exec,function,switch,change,rbe,delay,template,split,file in,yaml,http in,http response';
    const others = nodes.map((node) => node.type).filter((type) => ![...core.split(','), ...page, ...wanted].includes(type));
    expect(others.filter((type) => !(page.length > 0 && type.startsWith('ui-')))).toEqual([]);
  });

  it('every example flow has a file name that is safe in a URL', () => {
    expect(example).toMatch(/^[\w ,()-]+\.json$/);
  });

  it('every example flow is listed in docs/guide/examples.md', () => {
    expect(readFileSync(join(root, 'docs', 'guide', 'examples.md'), 'utf8')).toContain(`\n| [${example.replace('.json', '')}](`);
  });

  it('docs/guide/examples.md has a picture of every example flow', () => {
    const picture = `docs/pictures/${example.replace('.json', '').toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.png`;
    expect(existsSync(join(root, picture))).toBe(true);
    expect(readFileSync(join(root, 'docs', 'guide', 'examples.md'), 'utf8')).toContain(`/main/${picture})`);
  });

  it('every example flow says in a comment node what to change', () => {
    const comments = nodes.filter((node) => node.type === 'comment');
    expect(comments).toHaveLength(1);
    expect(comments[0]).toMatchObject({
      name: expect.stringMatching(/^Change first: /) as string,
      info: expect.stringContaining('### What to change') as string,
    });
  });

  it('every example flow contains every node that it refers to', () => {
    const ids = new Set(nodes.map((node) => node.id));
    expect(ids.size).toBe(nodes.length);
    expect(nodes.flatMap(referencesOf).filter((id) => !ids.has(id))).toEqual([]);
  });

  it('no example flow contains credentials, and each verifies certificates', () => {
    expect(nodes.filter((node) => 'credentials' in node)).toEqual([]);
    expect(nodes.filter((node) => node.type === 'tls-config').map((node) => node.verifyservercert)).toEqual([true]);
  });
});

function referencesOf(node: FlowNode): string[] {
  const single = [node.z, node.appliance, node.inventory, node.tls].filter((id): id is string => typeof id === 'string' && id !== '');
  return [...single, ...((node.wires ?? []) as string[][]).flat()];
}

/** Nodes that two imported examples share. Node-RED has one dashboard. */
const SHARED = ['gateway-appliance', 'gateway-inventory', 'tls-config', 'ui-base', 'ui-theme'];

it('example flows use identical appliance and certificate nodes, except the example with a one-time code', () => {
  const shared = exampleNames().map((example) => readExample(example).filter((node) => SHARED.includes(node.type)));
  expect(shared.filter((nodes) => nodes.some(waitsForCode))).toHaveLength(1);
  // Except the license server.
  const first = (nodes: FlowNode[]): boolean =>
    nodes.some(({ name }) => /^vpn-1( with a journal)?$/.test(String(name)) || name === 'license-1' || name === 'All appliances');
  for (const nodes of shared) expect(first(nodes) || nodes.some(waitsForCode)).toBe(true);
  // Two imported examples share each appliance node.
  const all = shared.flat();
  for (const node of all) expect(node).toEqual(all.find(({ id }) => id === node.id));
  expect(new Set(all.map(({ type, name }) => `${type} ${String(name)}`)).size).toBe(new Set(all.map(({ id }) => id)).size);
});

it('example flows use Function nodes only in the listed examples', () => {
  const functions = exampleNames().flatMap((example) =>
    readExample(example).flatMap(({ type, name }) => (type === 'function' ? [`${example.replace('.json', '')}: ${String(name)}`] : [])),
  );
  // Random bytes, text that is XML, a command line, and messages that were kept whole.
  expect(functions.sort()).toEqual([
    'Change one value by export and import: Change the value',
    'Change one value by export and import: Password for this once',
    'Copy a configuration to a second appliance: Leave out what is its own',
    'Copy a configuration to a second appliance: Password for this once',
    'Log in with a code: What waited',
    'Nightly snapshot kept in Git: What Git is to do',
    'Onboard a contractor: A first password',
  ]);
});

it('example flows share only configuration nodes, so that any two of them can be imported together', () => {
  const own = exampleNames().flatMap((example) => readExample(example).filter(({ type }) => !SHARED.includes(type)));
  const ids = own.map(({ id }) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});

it('example flows place every node except configuration nodes on the canvas', () => {
  const used = new Set(exampleNames().flatMap((example) => readExample(example).map((node) => node.type)));
  expect(wanted.filter((type) => !used.has(type))).toEqual([]);
});

/** Debug nodes for a list, a table, a whole mail, or an event. */
const SHOW_DATA = ['Backups', 'Entries', 'Mail', 'Mail to who signs', 'System', 'Table', 'Table of all'];

/** The lines of debug nodes, of all messages so far, that are not a sentence. */
function findNoSentences({ debug }: Running): string[] {
  const isSentence = (text: unknown): boolean => typeof text === 'string' && /\S \S/.test(text) && !text.includes('[object');
  const faults = debug.log.filter(({ name, msg }) => !SHOW_DATA.includes(name) && !isSentence(msg));
  return [...new Set(faults.map(({ name, raw }) => `${name}: ${raw.slice(0, 80)}`))];
}

describe('side by side in a real Node-RED', () => {
  let running: Running | undefined;
  beforeAll(async () => {
    // The health flow sends its first message at the start.
    const demo = await startDemo({
      names: together,
      simulator: { tls: authority },
      nodeRed: { env: { WEBHOOK_TOKEN: TOKEN, CERTIFICATE_PASSWORD: BUNDLE_PASSWORD } },
    });
    running = { ...demo, debug: await watchDebug(demo.nodeRed) };
  });
  afterAll(async () => {
    running?.debug.close();
    await running?.end();
  });

  it.each(together)('the example flow %s does what its comment says', async (example) => {
    const outcome = outcomes[example];
    expect(outcome, 'This example has no entry in `outcomes`.').toBeDefined();
    await outcome?.(running as Running, example);
  });

  it('the debug nodes of the examples show readable sentences, except the nodes for data', () => {
    expect(findNoSentences(running as Running)).toEqual([]);
  });
});

describe('in the demo with its default settings', () => {
  let running: Running | undefined;
  beforeAll(async () => {
    const demo = await startDemo({ names: together, lively: true });
    running = { ...demo, debug: await watchDebug(demo.nodeRed) };
  });
  afterAll(async () => {
    running?.debug.close();
    await running?.end();
  });

  /** The output of each button, pressed in this order. */
  const shows: [example: string, button: string, debug: string, shown: unknown][] = [
    [
      'Upload a certificate with its key',
      'Click: upload the bundle',
      'Uploaded',
      expect.stringMatching(/^Uploaded .+\.$/),
    ],
    [
      'Rotate the device certificate',
      '1. Click: ask for a certificate',
      'What to do next',
      expect.stringContaining('The request is called'),
    ],
    [
      'Rotate the device certificate',
      '2. Click: upload what was signed',
      'Uploaded',
      expect.stringMatching(/^Uploaded .+\.$/),
    ],
    ['Rotate the device certificate', '3. Click: delete the old one', 'Deleted', 'Deleted the certificate gateway-1.example.com.'],
    [
      'New session from a foreign network',
      'Click: look now',
      'From elsewhere',
      'traveler is signed in from 203.0.113.77.',
    ],
    ['Report each change of the configuration', 'Click: look now', 'Checked', expect.stringMatching(/: checked\.$/)],
    ['Watch the health', 'Every minute', 'Alert', 'The CPU load is 93 %.'],
    ['Watch the health', 'Every minute', 'Fine again', 'The CPU load is 7 %.'],
    ['Onboard a contractor', 'Every evening', 'Disabled', `Disabled ${LEAVER}.`],
    ['Change one value by export and import', 'Click: change it', 'Imported', 'ntp-server was pool.ntp.org, and is ntp.example.com now.'],
    ['Report the license leases', 'Every Monday at 7', 'Report', expect.stringContaining('Concurrent Users: 300 of 1000 (30 %)')],
    ['Restrict admin sign-in to a network', 'Click: restrict the sign-in', 'Restricted', expect.stringMatching(/^Set the source address mode of .+\.$/)],
  ];

  it.each(shows)('in the example flow %s, the button %s shows %s', async (example, button, name, shown) => {
    const { debug } = running as Running;
    if (name === 'Alert') expect(await debug.next('Fine again')).toContain(' 7 %');
    // The first check of a watch sends nothing.
    if (name === 'From elsewhere') await inject(running as Running, `${example}.json`, button);
    await inject(running as Running, `${example}.json`, button);
    expect(await debug.next(name, 20_000)).toEqual(shown);
    expect(debug.shown.filter(({ name: other }) => other === 'Why it failed')).toEqual([]);
  });

  it('the debug nodes of the demo show readable sentences, except the nodes for data', () => {
    expect(findNoSentences(running as Running)).toEqual([]);
  });
});

describe('the webhook', () => {
  const webhook = ['End sessions from a webhook.json'];

  it('the webhook refuses every call when no secret is configured', async () => {
    const demo = await startDemo({ names: webhook, nodeRed: { env: { WEBHOOK_TOKEN: '' } } });
    try {
      for (const token of ['', 'undefined', TOKEN]) expect(await post(demo.nodeRed.url, token, USER)).toMatchObject({ status: 401 });
    } finally {
      await demo.end();
    }
  });

  it('the webhook sends nothing to an appliance whose certificate is not trusted', async () => {
    const demo = await startDemo({ names: webhook, ca: () => selfSigned(['127.0.0.1']).cert });
    try {
      expect(await post(demo.nodeRed.url, TOKEN, USER)).toMatchObject({ status: 502, body: { code: 'TLS' } });
      expect(demo.simulator.requests).toEqual([]);
    } finally {
      await demo.end();
    }
  });
});
