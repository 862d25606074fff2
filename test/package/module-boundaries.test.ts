import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative, resolve, sep } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { Gateway, GatewayError, operations } from '../../src';

const SRC = join(__dirname, '../../src');
const files = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name));

const { dependencies } = JSON.parse(readFileSync(join(SRC, '../package.json'), 'utf8')) as { dependencies: Record<string, string> };

/** The specifiers that a file imports, types included. */
function listImports(file: string): string[] {
  return ts.preProcessFile(readFileSync(file, 'utf8'), true, true).importedFiles.map(({ fileName }) => fileName);
}

const isInside = (path: string, folder: string): boolean => !relative(folder, path).startsWith('..');

/** The layers, the lowest first: a folder or a file of `src/`. */
const LAYERS = [
  'model',
  'files',
  'http',
  'transfer',
  'rehearsal',
  'login',
  'run',
  'change',
  'journal',
  'snapshot',
  'backup',
  'contain',
  'conformance',
  'audit',
  'areas',
  'gateway',
  'inventory',
  'watch',
  'index',
];

/** Two lists of secret names would differ one day, and a saved copy would show what a snapshot masks. */
const SHARED: ReadonlySet<string> = new Set(['simulator/copy/save-snapshot.ts: ../../model/secrets']);

function getLayer(file: string): number {
  const name =
    relative(SRC, file)
      .split(sep)[0]
      ?.replace(/\.(js|ts)$/, '') ?? '';
  return name === 'simulator' ? 0 : LAYERS.indexOf(name === '' ? 'index' : name);
}

describe('the library', () => {
  it('the check of module boundaries finds the imports of all library files', () => {
    expect(files.length).toBeGreaterThan(30);
    expect(listImports(join(SRC, 'http/create-connection-pool.ts'))).toEqual(
      expect.arrayContaining(['undici', './connection-pool', 'node:net']),
    );
  });

  it.each(files.map((file) => [relative(SRC, file), file]))(
    '%s imports nothing from Node-RED or from outside the library',
    (_name, file) => {
      for (const name of listImports(file)) {
        if (name.startsWith('.')) expect(isInside(resolve(dirname(file), name), SRC), name).toBe(true);
        else if (!isBuiltin(name)) expect(Object.keys(dependencies), name).toContain(name);
      }
    },
  );

  it('the library shares no code with the simulator', () => {
    const simulator = join(SRC, 'simulator');
    for (const file of files) {
      for (const name of listImports(file).filter((from) => from.startsWith('.'))) {
        if (SHARED.has(`${relative(SRC, file)}: ${name}`)) continue;
        expect(isInside(resolve(dirname(file), name), simulator), `${relative(SRC, file)}: ${name}`).toBe(isInside(file, simulator));
      }
    }
  });

  it.each(files.map((file) => [relative(SRC, file), file]))('%s imports only from its own layer and the layers below it', (_name, file) => {
    const layer = getLayer(file);
    for (const name of listImports(file).filter((from) => from.startsWith('.'))) {
      const target = getLayer(resolve(dirname(file), name));
      expect(target, `${name} is not in the list of layers`).toBeGreaterThanOrEqual(0);
      expect(target, name).toBeLessThanOrEqual(layer);
    }
  });

  it('the library loads the HTTP client on first use only', () => {
    for (const file of files) expect(readFileSync(file, 'utf8'), file).not.toMatch(/^import (?!type)[^;]*from 'undici'/m);
  });

  it('the library runs in a script without Node-RED', () => {
    expect(typeof Gateway).toBe('function');
    expect(new GatewayError('LIMIT', 'Too many.')).toMatchObject({ code: 'LIMIT', message: 'Too many.' });
    expect(operations.has('sessions.list')).toBe(true);
  });
});
