import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { releaseNotes } from '../../scripts/release-notes.mjs';
import { billOfMaterials } from '../../scripts/sbom.mjs';
import { root } from '../../scripts/tools.mjs';

const read = (file: string): string => readFileSync(join(root, file), 'utf8');
// The version that Node-RED installs.
const require = createRequire(join(root, 'package.json'));
const { load } = createRequire(require.resolve('@node-red/nodes/package.json'))('js-yaml') as { load: (text: string) => unknown };
const yaml = <T>(file: string): T => load(read(file)) as T;

const manifest = JSON.parse(read('package.json')) as {
  version: string;
  files: string[];
  engines: { node: string };
  publishConfig: unknown;
  repository: { url: string };
  bugs: { url: string };
};

interface Workflow {
  permissions: Record<string, string>;
  jobs: Record<
    string,
    { strategy?: { matrix: { node: number[] } }; permissions?: Record<string, string>; steps: { run?: string; uses?: string }[] }
  >;
}

describe('CI', () => {
  const { jobs } = yaml<Workflow>('.github/workflows/ci.yml');

  it('CI runs .ci/run on every supported Node.js release', () => {
    expect(jobs.everything?.strategy?.matrix.node).toEqual([20, 22, 24]);
    expect(manifest.engines.node).toBe('>=20.19');
    expect(jobs.everything?.steps.flatMap(({ run = [] }) => run)).toEqual(['bash .ci/run']);
  });

  it.each(['ci', 'release'])('the workflow %s.yml has only read permission, and its jobs declare further permissions', (name) => {
    expect(yaml<Workflow>(`.github/workflows/${name}.yml`).permissions).toEqual({ contents: 'read' });
  });
});

describe('a release', () => {
  const steps = Object.values(yaml<Workflow>('.github/workflows/release.yml').jobs).flatMap((job) => job.steps);

  it('a release is public and has provenance', () => {
    expect(manifest.publishConfig).toEqual({ access: 'public', provenance: true });
    const { jobs } = yaml<Workflow>('.github/workflows/release.yml');
    expect(Object.values(jobs).map(({ permissions }) => permissions)).toEqual([{ contents: 'write', 'id-token': 'write' }]);
  });

  it('a release runs its checks before it is published', () => {
    const order = ['scripts/release-notes.mjs', '.ci/run', 'npm run --silent sbom', 'npm pack', 'npm publish', 'gh release create'];
    const places = order.map((command) => steps.findIndex(({ run }) => run?.includes(command)));
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  it('a release has a bill of materials with exactly the installed dependencies of the lock file', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { version: string; dependencies?: Record<string, string> }>;
    };
    const installed = new Set<string>();
    const walk = (name: string): void => {
      const found = packages[`node_modules/${name}`];
      if (!found || installed.has(`${name}@${found.version}`)) return;
      installed.add(`${name}@${found.version}`);
      Object.keys(found.dependencies ?? {}).forEach(walk);
    };
    Object.keys(packages['']?.dependencies ?? {}).forEach(walk);
    const { metadata, components } = billOfMaterials();
    expect(metadata.component).toMatchObject({ name: '@gateway-admin/node-red', version: manifest.version });
    expect(components.map(({ name, version }) => `${name}@${version}`).sort()).toEqual([...installed].sort());
    expect(installed.size).toBeGreaterThan(10);
  });

  const changelog =
    '# Changelog\n\n## [0.3.0] - unreleased\n\n- new\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- this\n\n## [0.1.0] - 2026-11-20\n';

  it('the notes of a release come from the changelog', () => {
    expect(releaseNotes({ tag: 'v0.2.0', version: '0.2.0', changelog })).toBe('### Added\n\n- this');
  });

  it.each([
    ['v0.2.1', '0.2.0', /the tag has to be v0\.2\.0/],
    ['v0.4.0', '0.4.0', /no section \[0\.4\.0\]/],
    ['v0.3.0', '0.3.0', /has no date/],
    ['v0.1.0', '0.1.0', /says nothing of \[0\.1\.0\]/],
  ])('a release of %s with version %s is refused', (tag, version, words) => {
    expect(() => releaseNotes({ tag, version, changelog })).toThrow(words);
  });

  it('a release has the version of the newest changelog entry', () => {
    const script = join(root, 'scripts', 'release-notes.mjs');
    const run = spawnSync(process.execPath, [script, `v${manifest.version}`], { encoding: 'utf8' });
    if (run.status !== 0)
      expect(run.stderr).toBe(
        `CHANGELOG.md: "[${manifest.version}] - unreleased" has no date. Write [${manifest.version}] - YYYY-MM-DD.\n`,
      );
    else expect(read('CHANGELOG.md')).toContain(run.stdout.trim());
  });
});

describe('the repository for newcomers', () => {
  const address = manifest.repository.url.replace(/^git\+/, '');

  it('the README shows the clone command before the install command', () => {
    const readme = read('README.md');
    expect(readme.indexOf(`git clone ${address}`)).toBeGreaterThan(0);
    expect(readme.indexOf(`git clone ${address}`)).toBeLessThan(readme.indexOf('npm ci'));
    expect(readme).toContain('| 5.0 | 22.9 or newer |');
  });

  it.each(readdirSync(join(root, '.github', 'ISSUE_TEMPLATE')).filter((file) => file !== 'config.yml'))(
    '%s is a valid GitHub issue form',
    (file) => {
      const form = yaml<{ name: string; description: string; body: { type: string; id?: string; attributes: Record<string, unknown> }[] }>(
        `.github/ISSUE_TEMPLATE/${file}`,
      );
      expect([form.name, form.description].every((text) => text.length > 10)).toBe(true);
      const ids = form.body.flatMap(({ id = [] }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      for (const { type, attributes } of form.body) {
        expect(['markdown', 'input', 'textarea', 'dropdown', 'checkboxes']).toContain(type);
        expect(typeof (type === 'markdown' ? attributes.value : attributes.label)).toBe('string');
        if (type === 'dropdown' || type === 'checkboxes') expect(attributes.options).toBeInstanceOf(Array);
      }
    },
  );

  it('the configuration of Dependabot lists every folder with a lock file', () => {
    const { updates } = yaml<{ updates: { 'package-ecosystem': string; directories?: string[] }[] }>('.github/dependabot.yml');
    const folders = ['/', ...readdirSync(join(root, 'tools')).map((tool) => `/tools/${tool}`)].filter((folder) =>
      existsSync(join(root, folder, 'package-lock.json')),
    );
    expect(updates.find((update) => update['package-ecosystem'] === 'npm')?.directories?.sort()).toEqual(folders.sort());
  });

  // fleet/node_modules holds a link to this repository: a walk into it would never end.
  const listDocuments = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : listDocuments(path);
      return entry.name.endsWith('.md') ? [path] : [];
    });
  const documents = ['docs', 'fleet', '.github'].flatMap(listDocuments);
  const linksOf = (file: string): string[] =>
    [...read(file).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = '']) => join(file, '..', decodeURIComponent(link)));

  it.each(['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', ...documents])('the page %s has no dead link', (file) => {
    expect(linksOf(file).filter((link) => !existsSync(join(root, link)))).toEqual([]);
  });

  it('the pages in the tarball link only to files in the tarball', () => {
    const folders = manifest.files.map((entry) => entry.replace(/\*.*$/, ''));
    const isPacked = (file: string): boolean =>
      /^(README|CHANGELOG|SECURITY)\.md$|^(LICENSE|package\.json)$/.test(file) ||
      folders.some((folder) => (folder === 'docs/' ? /^docs\/[^/]+$/.test(file) : file.startsWith(folder)));
    const packed = ['README.md', 'SECURITY.md', 'CHANGELOG.md', ...documents.filter(isPacked)];
    expect(packed.flatMap((file) => linksOf(file).flatMap((link) => (isPacked(link) ? [] : [`${file}: ${link}`])))).toEqual([]);
  });
});
