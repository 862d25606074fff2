import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isObject } from '../model/json';

const PACKAGE = '@gateway-admin/node-red';

/** This package's folder and release. Compiled code, bundled code and sources are at different depths below it. */
interface PackageLocation {
  readonly folder: string;
  readonly version: string;
}

/** Returns the first parent folder of `from` that is this package. */
export function findPackage(from: string): PackageLocation | undefined {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const version = readPackageVersion(join(folder, 'package.json'), PACKAGE);
    if (version !== undefined) return { folder, version };
  }
  return undefined;
}

/** The path of a file that the build wrote below `dist/`. */
export function locateBuiltFile(...path: readonly string[]): string {
  return join(findPackage(__dirname)?.folder ?? '', 'dist', ...path);
}

/** The version in a `package.json`, if the file is valid and, when a name is given, has that name. */
export function readPackageVersion(file: string, name?: string): string | undefined {
  try {
    const manifest: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (!isObject(manifest) || (name !== undefined && manifest['name'] !== name)) return undefined;
    return typeof manifest['version'] === 'string' ? manifest['version'] : undefined;
  } catch {
    return undefined;
  }
}
