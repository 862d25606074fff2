import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isObject } from '../../model/json';

const PACKAGE = '@gateway-admin/node-red';

/** What this runs on, and by which releases. */
export function versions(): Record<string, string> {
  return {
    package: versionAbove(__dirname),
    node: process.version,
    undici: versionIn(createRequire(__filename).resolve('undici/package.json')) ?? 'unknown',
    platform: `${process.platform} ${process.arch}`,
  };
}

/** Ours, of the folder above that is this package: compiled it is one further down. */
export function versionAbove(from: string): string {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const version = versionIn(join(folder, 'package.json'), PACKAGE);
    if (version !== undefined) return version;
  }
  return 'unknown';
}

function versionIn(file: string, name?: string): string | undefined {
  try {
    const found: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (!isObject(found) || (name !== undefined && found['name'] !== name)) return undefined;
    return typeof found['version'] === 'string' ? found['version'] : undefined;
  } catch {
    return undefined;
  }
}
