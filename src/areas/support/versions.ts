import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isObject } from '../../model/json';

const PACKAGE = '@gateway-admin/node-red';

/** What this runs on, and by which releases. */
export function readVersions(): Record<string, string> {
  return {
    package: findPackageVersion(__dirname),
    node: process.version,
    undici: readVersion(createRequire(__filename).resolve('undici/package.json')) ?? 'unknown',
    platform: `${process.platform} ${process.arch}`,
  };
}

/** Ours, of the folder above that is this package: compiled it is one further down. */
export function findPackageVersion(from: string): string {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const version = readVersion(join(folder, 'package.json'), PACKAGE);
    if (version !== undefined) return version;
  }
  return 'unknown';
}

function readVersion(file: string, name?: string): string | undefined {
  try {
    const manifest: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (!isObject(manifest) || (name !== undefined && manifest['name'] !== name)) return undefined;
    return typeof manifest['version'] === 'string' ? manifest['version'] : undefined;
  } catch {
    return undefined;
  }
}
