import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll } from 'vitest';

/**
 * For the tests of a file that need a passphrase, but not what it takes to guess one: keys of one round in place of 600,000, which cost
 * a third of a second each. test/unit/backup/backup.test.ts decrypts a backup with OpenSSL and 600,000 rounds.
 */
export function useFastKeyDerivation(): void {
  const { pbkdf2 } = crypto;
  const quick = (...[passphrase, salt, , length, digest, done]: Parameters<typeof pbkdf2>): void =>
    pbkdf2(passphrase, salt, 1, length, digest, done);
  beforeAll(() => use(quick));
  afterAll(() => use(pbkdf2));
}

function use(pbkdf2: typeof crypto.pbkdf2): void {
  crypto.pbkdf2 = pbkdf2;
  syncBuiltinESMExports();
}
