import { createRequire } from 'node:module';
import { findPackage, readPackageVersion } from '../../files/package-folder';

/** Returns the versions of the package, Node.js and undici, and the platform. */
export function readComponentVersions(): Record<string, string> {
  return {
    package: findPackage(__dirname)?.version ?? 'unknown',
    node: process.version,
    undici: readPackageVersion(createRequire(__filename).resolve('undici/package.json')) ?? 'unknown',
    platform: `${process.platform} ${process.arch}`,
  };
}
