import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compiler, root } from '../../scripts/tools.mjs';
import * as library from '../../src';
import { operations } from '../../src/areas';
import * as simulatorModule from '../../src/simulator';
import { startSimulator, type Simulator } from '../../src/simulator';
import { install, name, type Installed } from './install';

// The library as others use it: the first script of the guide as it stands, in a folder where the tarball is installed.
const section =
  readFileSync(join(root, 'docs', 'guide', 'library.md'), 'utf8')
    .split('\n## A first script\n')[1]
    ?.split('\n## ')[0] ?? '';
const snippets = Object.fromEntries([...section.matchAll(/```(\w+)\n([^]*?)```/g)].map(([, language = '', text = '']) => [language, text]));

const run = promisify(execFile);
let installed: Installed;
let simulator: Simulator;

beforeAll(async () => {
  installed = install();
  simulator = await startSimulator({ username: 'node-red', password: 'planted', sessions: 0 });
  for (let count = 0; count < 3; count++) simulator.state.sessions.add({ 'active-user-name': 'j.doe' });
  write('ca.pem', simulator.ca);
});
afterAll(async () => {
  await simulator.close();
  installed.remove();
});

const write = (file: string, text: string): void => writeFileSync(join(installed.folder, file), text);

/** Returns what a program prints, with the address of the simulator. */
async function output(file: string, text: string, password = 'planted'): Promise<string> {
  expect(text).toContain("url: 'https://vpn.example.com'");
  write(file, text.replace('https://vpn.example.com', simulator.url));
  const { stdout, stderr } = await run(process.execPath, [file], {
    cwd: installed.folder,
    env: { ...process.env, GATEWAY_PASSWORD: password },
  }).catch((error: unknown) => error as { stdout: string; stderr: string });
  return stdout + stderr;
}

/** What the compiler says of programs in strict TypeScript, the declarations of the package included. */
async function complaints(programs: Record<string, string>): Promise<string> {
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    // Callers must be able to name the types of the results.
    declaration: true,
    target: 'es2022',
    module: 'nodenext',
    types: ['node'],
    typeRoots: [join(root, 'node_modules', '@types')],
  };
  for (const [file, text] of Object.entries(programs)) write(file, text);
  write('tsconfig.json', JSON.stringify({ compilerOptions, files: Object.keys(programs) }));
  const { stdout } = await run(process.execPath, [compiler, '-p', '.'], { cwd: installed.folder }).catch(
    (error: unknown) => error as { stdout: string },
  );
  return stdout;
}

describe('the first script of docs/guide/library.md', () => {
  it('the first script of docs/guide/library.md exists for ES modules and CommonJS', () => {
    expect(Object.keys(snippets)).toEqual(['ts', 'js']);
    // The README shows the first of them.
    expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(`\`\`\`ts\n${snippets.ts}\`\`\``);
  });

  it('the first script of docs/guide/library.md runs as an ES module', async () => {
    expect(await output('sessions.mjs', snippets.ts ?? '')).toMatch(/^3 sessions in [\d.]+ ms\n$/);
  });

  it('the first script of docs/guide/library.md runs as CommonJS and prints the code and message of an error', async () => {
    expect(await output('sessions.cjs', snippets.js ?? '')).toMatch(/^3 sessions in [\d.]+ ms\n$/);
    const refused = await output('sessions.cjs', snippets.js ?? '', 'wrong');
    expect(refused).toMatch(/^LOGIN_REJECTED: \S/);
  });
});

/** The other examples of the guide, each with the beginning that they share. */
const guide = readFileSync(join(root, 'docs', 'guide', 'library.md'), 'utf8');
const [{ text: beginning = '' } = {}, ...examples] = guide
  .split(/^## /m)
  .flatMap((part) => [...part.matchAll(/```js example\n([^]*?)```/g)].map(([, text = '']) => ({ title: part.split('\n')[0], text })));

describe('docs/guide/library.md', () => {
  it('the code examples in docs/guide/library.md are found', () => expect(examples.length).toBeGreaterThan(8));

  it.each(examples.map((example, index) => ({ ...example, index })))('has an example that runs: $title', async ({ text, index }) => {
    const file = `example-${index}.mjs`;
    write(file, `${beginning}${text}\ngateway.close();\nawait simulator.close();\n`);
    const { stderr } = await run(process.execPath, [file], { cwd: installed.folder });
    expect(stderr).toBe('');
  });
});

const COMMONJS = `
  import { Gateway, GatewayError, operations, type Envelope, type ErrorCode, type Settings } from '${name}';
  import { startSimulator, type Simulator } from '${name}/simulator';
  const settings: Settings = { url: 'https://vpn.example.com', username: 'a', password: 'b', realm: 'c' };
  export async function kill(id: string): Promise<Envelope> {
    const simulator: Simulator = await startSimulator({ sessions: 3 });
    await simulator.close();
    return (await new Gateway(settings).run('sessions.kill', { 'session-id': id }, { dryRun: true })).envelope;
  }
  export const codeOf = (error: unknown): ErrorCode | undefined => (error instanceof GatewayError ? error.code : undefined);
  export const known: boolean = operations.has('sessions.list');`;

const WRONG = `
  import { Gateway } from '${name}';
  // @ts-expect-error there is no such setting
  const gateway = new Gateway({ url: 'https://vpn.example.com', address: 'x' });
  const { data } = await gateway.run('sessions.list');
  // @ts-expect-error an array is no text
  data.toUpperCase();`;

/** A module that gives on what it gets: of every operation, and whatever the package exports. */
function passedOn(): string {
  const lines = [
    `import * as library from '${name}'; import * as simulator from '${name}/simulator';`,
    `const gateway = new library.Gateway({ url: 'https://vpn.example.com', login: 'key', apiKey: 'a' });`,
  ];
  for (const [index, operation] of [...operations.keys()].entries())
    lines.push(`export const run${index} = (input: library.OperationInput<'${operation}'>) => gateway.run('${operation}', input);`);
  for (const [from, exported] of Object.entries({ library, simulator: simulatorModule }))
    for (const [key, value] of Object.entries(exported)) {
      lines.push(`export const ${from}_${key} = ${from}.${key};`);
      if (typeof value === 'function' && !String(value).startsWith('class'))
        lines.push(`export const ${from}_of_${key} = (...given: Parameters<typeof ${from}.${key}>) => ${from}.${key}(...given);`);
    }
  return lines.join('\n');
}

describe('the declarations', () => {
  it('the declarations compile in strict TypeScript as ES module and CommonJS, without Node-RED installed', async () => {
    expect(
      await complaints({ 'sessions.mts': snippets.ts ?? '', 'program.cts': COMMONJS, 'wrong.mts': WRONG, 'passed-on.mts': passedOn() }),
    ).toBe('');
  });
});
