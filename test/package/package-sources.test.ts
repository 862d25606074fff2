import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../../scripts/tools.mjs';

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
  scripts: Record<string, string>;
};

function importsOf(folder: string): { file: string; name: string }[] {
  const files = readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).filter((entry) => entry.name.endsWith('.ts'));
  return files.flatMap((entry) => {
    const file = join(entry.parentPath, entry.name);
    const found = readFileSync(file, 'utf8').matchAll(/(?:\bfrom|\bimport\s*\(?|\brequire\s*\()\s*['"]([\w@.:/-]+)['"]/g);
    return [...found].map(([, name = '']) => ({ file, name }));
  });
}

describe('the library', () => {
  it('the library imports nothing from Node-RED, from the nodes, or from what is not a dependency', () => {
    const allowed = new Set([...builtinModules.map((name) => `node:${name}`), ...Object.keys(manifest.dependencies)]);
    const foreign = importsOf('src').filter(({ file, name }) =>
      name.startsWith('.') ? !resolve(file, '..', name).startsWith(join(root, 'src')) : !allowed.has(name),
    );
    expect(importsOf('src').length).toBeGreaterThan(50);
    expect(foreign).toEqual([]);
  });

  it('the library has at most six dependencies, and its installation runs no script of this package', () => {
    expect(Object.keys(manifest.dependencies).length).toBeLessThanOrEqual(6);
    expect(Object.keys(manifest.scripts).filter((script) => /^(pre|post)?install$/.test(script))).toEqual([]);
  });

  it('the library shares no code with the simulator, because the tests would not see a mistake in shared code', () => {
    const simulator = join(root, 'src', 'simulator');
    // What a copy saves must hide every secret that the library knows.
    const hidesSecrets = join(simulator, 'copy', 'save-snapshot.ts');
    const crossing = importsOf('src').filter(({ file, name }) => {
      const target = name.startsWith('.') ? resolve(file, '..', name) : simulator;
      if (file === hidesSecrets && name === '../../model/secrets') return false;
      return file.startsWith(simulator) !== target.startsWith(simulator) && name.startsWith('.');
    });
    expect(crossing).toEqual([]);
  });
});

describe('lock files', () => {
  const tools = readdirSync(join(root, 'tools')).map((tool) => `tools/${tool}`);

  it.each(['.', ...tools])('the lock file of the folder %s contains no download addresses', (folder) => {
    const file = join(root, folder, 'package-lock.json');
    expect(existsSync(file)).toBe(true);
    expect(readFileSync(file, 'utf8')).not.toMatch(/"resolved"/);
  });
});
