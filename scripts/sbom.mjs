// @ts-check
// The software bill of materials of the published package, in CycloneDX: `npm run --silent sbom`.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { npm, root } from './tools.mjs';

/**
 * `npm sbom --omit dev` leaves out what a dependency for development needs as well, such as mustache. So it is asked in a folder where there are no
 * such dependencies, with the versions of our lock file.
 * @returns {{ metadata: { component: { name: string, version: string } }, components: { name: string, version: string }[] }}
 */
export function billOfMaterials() {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-sbom-'));
  try {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    delete manifest.devDependencies;
    delete manifest.scripts;
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    cpSync(join(root, 'package-lock.json'), join(folder, 'package-lock.json'));
    npm(['install', '--package-lock-only', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'], folder);
    const bill = JSON.parse(npm(['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], folder));
    // npm takes the name of the folder.
    bill.metadata.component.name = manifest.name;
    return bill;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log(JSON.stringify(billOfMaterials(), null, 2));
