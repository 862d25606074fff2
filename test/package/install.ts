import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npm, root } from '../../scripts/tools.mjs';

export const name = '@gateway-admin/node-red';

/** The package as it is published: packed, and installed into an empty folder. */
export interface Installed {
  /** The folder of the test; `remove` deletes it. */
  readonly work: string;
  /** The folder in which a user runs npm. */
  readonly folder: string;
  /** Paths in the tarball. */
  readonly packed: readonly string[];
  remove(): void;
}

export function install(): Installed {
  const work = mkdtempSync(join(tmpdir(), 'gateway-package-'));
  const folder = join(work, 'user');
  // Without scripts: `prepare` would build, and other tests work with dist/ meanwhile.
  const [answer] = JSON.parse(npm(['pack', '--json', '--ignore-scripts', '--pack-destination', work], root)) as [
    { filename: string; files: { path: string }[] },
  ];
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "name": "node-red-project", "private": true }');
  const tarball = join(work, answer.filename.split('/').at(-1) ?? '');
  npm(['install', tarball, '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund'], folder);
  return { work, folder, packed: answer.files.map((file) => file.path), remove: () => rmSync(work, { recursive: true, force: true }) };
}
