import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isObject } from '../../model/json';

const PACKAGE = '@gateway-admin/node-red';

/** Returns the versions of the package, Node.js and undici, and the platform. */
export function readVersions(): Record<string, string> {
  return {
    package: findPackageVersion(__dirname),
    node: process.version,
    undici: readVersion(createRequire(__filename).resolve('undici/package.json')) ?? 'unknown',
    platform: `${process.platform} ${process.arch}`,
  };
}

/** Finds the version of this package in a parent folder; compiled code is one folder deeper. */
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
