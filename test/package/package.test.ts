import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkWebhook } from '../../scripts/demo/check.mjs';
import { readExample } from '../../scripts/demo/examples.mjs';
import { startDemo, TOKEN, USER, type Demo } from '../../scripts/demo/start.mjs';
import { node24 } from '../../scripts/node24.mjs';
import { root } from '../../scripts/tools.mjs';
import { areas } from '../../src/areas';
import { install, name, type Installed } from './install';

// Packs the package, installs it into an empty Node-RED, and uses it there.
const webhook = 'End sessions from a webhook.json';
let own: Installed;
let userDir: string;
let installed: string;
/** A module that prints a line when the installed undici is loaded. */
let watcher: string;

beforeAll(() => {
  own = install();
  userDir = own.folder;
  installed = join(userDir, 'node_modules', ...name.split('/'));
  watcher = join(own.work, 'watch-undici.cjs');
  writeFileSync(
    watcher,
    `const Module = require('node:module');
    const load = Module._extensions['.js'];
    Module._extensions['.js'] = function (module, file) {
      if (file.startsWith(${JSON.stringify(join(userDir, 'node_modules', 'undici'))}) && file.endsWith('index.js')) console.log('undici loaded');
      return load.apply(this, arguments);
    };`,
  );
});

afterAll(() => own.remove());

describe('the tarball', () => {
  it('the tarball contains every file that a user needs', () => {
    expect(own.packed).toEqual(
      expect.arrayContaining([
        ...['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md'],
        ...['dist/src/index.js', 'dist/src/index.d.ts', 'dist/src/simulator/cli.js', 'dist/nodes/gateway.js', 'dist/nodes/gateway.html'],
        ...['dist/nodes/locales/en-US/gateway.json', 'dist/nodes/locales/en-US/gateway.html'],
        ...areas.map((area) => `dist/nodes/icons/${area.icon}`),
        ...readdirSync(join(root, 'examples')).map((example) => `examples/${example}`),
      ]),
    );
  });

  it('the tarball contains no other files', () => {
    const allowed =
      /^(dist\/(src|nodes|chunks)\/.*\.(js|d\.ts|html|json|svg)|examples\/[^/]+\.json|docs\/((guide|nodes|reference)\/)?[^/]+\.(md|png)|[^/]+\.md|LICENSE|package\.json)$/;
    expect(own.packed.filter((file) => !allowed.test(file))).toEqual([]);
  });

  it('the tarball contains no path of the machine that built it', () => {
    const texts = own.packed.filter((file) => !file.endsWith('.png'));
    const places = [root.replace(/[\\/]$/, ''), homedir(), tmpdir()].filter((place) => place.length > 1);
    const found = texts.filter((file) => {
      const text = readFileSync(join(installed, file), 'utf8');
      return places.some((place) => text.includes(`${place}/`) || text.includes(`${place}\\`));
    });
    expect(found).toEqual([]);
  });

  it('the tarball loads one file until there is a node', () => {
    const code = "require(process.argv[1]); console.log(Object.keys(require.cache).join('\\n'))";
    const entry = join(installed, 'dist', 'nodes', 'gateway.js');
    expect(execFileSync(process.execPath, ['-e', code, entry], { encoding: 'utf8' }).trim()).toBe(entry);
  });

  it('the tarball installs only its runtime dependencies', () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: Record<string, string> };
    for (const dependency of Object.keys(dependencies))
      expect(existsSync(join(userDir, 'node_modules', dependency)), dependency).toBe(true);
    expect(existsSync(join(userDir, 'node_modules', 'vitest'))).toBe(false);
  });

  // YAML takes 1.2 of them, JSONata 0.9, undici 2, four languages half of one.
  it('the tarball takes no more than 9.5 MB with its dependencies', () => {
    const files = readdirSync(join(userDir, 'node_modules'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const bytes = files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
    expect(bytes).toBeLessThan(9.5e6);
  });

  it('the tarball works from a script and contains the simulator', () => {
    const script = `
      const { Gateway, GatewayError, operations } = require('${name}');
      const { startSimulator } = require('${name}/simulator');
      (async () => {
        const simulator = await startSimulator({ sessions: 450 });
        const { username, password, realm } = simulator.state.settings;
        const gateway = new Gateway({ url: simulator.url, username, password, realm, tls: { ca: simulator.ca } });
        const { data } = await gateway.run('sessions.list');
        const refused = await gateway.run('sessions.kill', {}).catch((error) => error);
        console.log(JSON.stringify([data.length, refused instanceof GatewayError, refused.code, operations.has('sessions.list')]));
        gateway.close();
        await simulator.close();
      })();`;
    const output = execFileSync(process.execPath, ['-e', script], { cwd: userDir, encoding: 'utf8' });
    expect(JSON.parse(output)).toEqual([450, true, 'BAD_INPUT', true]);
    const help = execFileSync(join(userDir, 'node_modules', '.bin', 'gateway-simulator'), ['--help'], { encoding: 'utf8' });
    expect(help).toContain('--sessions');
  });

  // Libraries that are loaded at first use are something else once all is built than while it is tested.
  it('the tarball reads an inventory in each format', () => {
    const url = 'https://a.example';
    const texts = { json: JSON.stringify([{ name: 'a', url }]), yaml: `- { name: a, url: "${url}" }`, csv: `name,url\na,${url}\n` };
    const script = `
      const { Inventory } = require(${JSON.stringify(installed)});
      (async () => {
        const names = [];
        for (const [format, text] of Object.entries(${JSON.stringify(texts)})) {
          const inventory = new Inventory({ defaults: { realm: 'r' }, credentials: { default: { username: 'u', password: 'p' } } });
          await inventory.read(text, format);
          names.push(inventory.appliances.map(({ name }) => name));
        }
        console.log(JSON.stringify(names));
      })();`;
    const output = execFileSync(process.execPath, ['-e', script], { cwd: userDir, encoding: 'utf8' });
    expect(JSON.parse(output)).toEqual([['a'], ['a'], ['a']]);
  });
});

/** Warnings of Node-RED, except two that are expected. */
function complaints({ nodeRed }: Demo): string[] {
  const lines = nodeRed.output().split('\n');
  return lines.filter((line) => /\[(error|warn)\]/.test(line) && !/Using unencrypted credentials|Projects disabled/.test(line));
}

describe.each([
  { version: 4 as const, node: () => process.execPath },
  { version: 5 as const, node: node24 },
])('in Node-RED $version', ({ version, node }) => {
  const start = (settingsCode = '') =>
    startDemo({
      names: [webhook],
      nodeRed: {
        version,
        node: node(),
        nodeArgs: ['--require', watcher],
        // What npm installed, in a user directory of its own, and not this repository. What it depends on is searched for nodes by nobody.
        nodesDir: [installed],
        settingsCode,
      },
    });
  let demo: Demo;
  beforeAll(async () => {
    demo = await start();
  });
  afterAll(() => demo.end());

  it('the installed package loads every node without a warning in the log', async () => {
    const sets = (await (await fetch(`${demo.nodeRed.url}/nodes`, { headers: { accept: 'application/json' } })).json()) as {
      module: string;
      types: string[];
      enabled: boolean;
      err?: string;
    }[];
    const ours = sets.filter((set) => set.module === name);
    expect(ours.flatMap((set) => set.types).sort()).toEqual(
      ['gateway-appliance', 'gateway-inventory', 'gateway-watch', ...areas.map((area) => `gateway-${area.name}`)].sort(),
    );
    expect(ours.map(({ enabled, err }) => ({ enabled, err }))).toEqual([{ enabled: true, err: undefined }]);
    expect(complaints(demo)).toEqual([]);
    expect(demo.nodeRed.version.startsWith(`${version}.`)).toBe(true);
  });

  it('the installed package serves the dialogs, texts, icons and examples', async () => {
    const get = async (path: string, accept: string) => {
      const response = await fetch(`${demo.nodeRed.url}/${path}`, { headers: { accept, 'accept-language': 'en-US' } });
      return { status: response.status, text: await response.text() };
    };
    const html = await get('nodes', 'text/html');
    for (const area of areas) {
      expect(html.text).toContain(`data-template-name="gateway-${area.name}"`);
      expect(await get(`icons/${name}/${area.icon}`, 'image/*')).toMatchObject({
        status: 200,
        text: expect.stringContaining('<svg') as string,
      });
    }
    expect((await get('nodes/messages?lng=en-US', 'application/json')).text).toContain('"kill-user"');
    const example = await get(`library/examples/flows/${name}/${encodeURIComponent(webhook.replace('.json', ''))}`, 'application/json');
    expect(JSON.parse(example.text)).toEqual(readExample(webhook));
  });

  it('the installed package loads undici at the first request, not earlier', async () => {
    expect(demo.nodeRed.output()).not.toContain('undici loaded');
    expect(await checkWebhook({ ...demo, token: TOKEN, user: USER })).toEqual([]);
    expect(demo.nodeRed.output()).toContain('undici loaded');
    expect(complaints(demo)).toEqual([]);
  });

  it('the installed package allows the connection test only to users with write permission', async () => {
    const users = "users: (name) => Promise.resolve({ username: name, permissions: name === 'reader' ? 'read' : '*' })";
    const guarded = await start(
      `module.exports.adminAuth = { type: 'credentials', ${users}, authenticate: (name) => module.exports.adminAuth.users(name) };`,
    );
    try {
      const { url } = guarded.nodeRed;
      const token = async (username: string) => {
        const body = new URLSearchParams({ client_id: 'node-red-editor', grant_type: 'password', scope: '', username, password: 'any' });
        return ((await (await fetch(`${url}/auth/token`, { method: 'POST', body })).json()) as { access_token: string }).access_token;
      };
      const test = async (headers: Record<string, string>) => {
        const response = await fetch(`${url}/gateway-appliance/test`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ url: guarded.simulator.url }),
        });
        return response.status;
      };
      expect(await test({})).toBe(401);
      expect(await test({ authorization: `Bearer ${await token('reader')}` })).toBe(401);
      expect(guarded.simulator.requests).toEqual([]);
      expect(await test({ authorization: `Bearer ${await token('owner')}` })).toBe(200);
    } finally {
      await guarded.end();
    }
  });
});
