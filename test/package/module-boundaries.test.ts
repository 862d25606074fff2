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

const { dependencies } = JSON.parse(readFileSync(join(SRC, '../../package.json'), 'utf8')) as { dependencies: Record<string, string> };

/** What a file imports, in whatever way, types included. */
function importsOf(file: string): string[] {
  return ts.preProcessFile(readFileSync(file, 'utf8'), true, true).importedFiles.map(({ fileName }) => fileName);
}

const inside = (path: string, folder: string): boolean => !relative(folder, path).startsWith('..');

/** The house, from the cellar up; what stands in `src/` itself is its roof. */
const ROOMS = [
  'model',
  'http',
  'transfer',
  'login',
  'run',
  'change',
  'journal',
  'snapshot',
  'backup',
  'contain',
  'areas',
  'gateway-options',
  'gateway-writes',
  'gateway',
  'inventory',
  'watch',
  'index',
];

function floorOf(file: string): number {
  const room =
    relative(SRC, file)
      .split(sep)[0]
      ?.replace(/\.(js|ts)$/, '') ?? '';
  return room === 'simulator' ? 0 : ROOMS.indexOf(room === '' ? 'index' : room);
}

describe('the library', () => {
  it('is looked at', () => {
    expect(files.length).toBeGreaterThan(30);
    expect(importsOf(join(SRC, 'http/pool.ts'))).toEqual(expect.arrayContaining(['undici', './connections', 'node:net']));
  });

  it.each(files.map((file) => [relative(SRC, file), file]))('%s imports nothing of Node-RED, and nothing from outside', (_name, file) => {
    for (const name of importsOf(file)) {
      if (name.startsWith('.')) expect(inside(resolve(dirname(file), name), SRC), name).toBe(true);
      else if (!isBuiltin(name)) expect(Object.keys(dependencies), name).toContain(name);
    }
  });

  it('and the simulator share no code', () => {
    const simulator = join(SRC, 'simulator');
    for (const file of files) {
      for (const name of importsOf(file).filter((from) => from.startsWith('.'))) {
        expect(inside(resolve(dirname(file), name), simulator), `${relative(SRC, file)}: ${name}`).toBe(inside(file, simulator));
      }
    }
  });

  it.each(files.map((file) => [relative(SRC, file), file]))('%s imports from its own room and from rooms below it only', (_name, file) => {
    const floor = floorOf(file);
    for (const name of importsOf(file).filter((from) => from.startsWith('.'))) {
      const target = floorOf(resolve(dirname(file), name));
      expect(target, `${name} is no room that this test knows`).toBeGreaterThanOrEqual(0);
      expect(target, name).toBeLessThanOrEqual(floor);
    }
  });

  it('loads the HTTP client on first use only', () => {
    for (const file of files) expect(readFileSync(file, 'utf8'), file).not.toMatch(/^import (?!type)[^;]*from 'undici'/m);
  });

  it('can be used from a script', () => {
    expect(typeof Gateway).toBe('function');
    expect(new GatewayError('LIMIT', 'Too many.')).toMatchObject({ code: 'LIMIT', message: 'Too many.' });
    expect(operations.has('sessions.list')).toBe(true);
  });
});
