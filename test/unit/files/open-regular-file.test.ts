import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readRegularFile, readRegularFileSync } from '../../../src/files/open-regular-file';
import { readJsonFile } from '../../../src/files/read-json-file';
import { withLockFile } from '../../../src/files/lock-file';
import { credentialsFromFolder } from '../../../src/inventory/credentials';
import { listJournalFileNames, readJournalFileEnds, readRawJournalLines } from '../../../src/journal/journal-files';
import { expectFailure } from '../../helpers/simulated-appliance';
import { createTemporaryFolder } from '../../helpers/temporary';

const JOURNAL_FILE = '20261121-01234567-1-0123456789ab.jsonl';

function createPipe(path: string): string {
  execFileSync('mkfifo', [path]);
  return path;
}

/** A sparse file, which occupies no space. */
function createSparseFile(path: string): string {
  writeFileSync(path, '');
  truncateSync(path, 1.2e9);
  return path;
}

describe.runIf(process.platform !== 'win32')('readRegularFile', () => {
  it('readRegularFile reads a file, also through a link', async () => {
    const folder = createTemporaryFolder();
    const file = join(folder, 'a');
    writeFileSync(file, 'abc');
    symlinkSync(file, join(folder, 'link'));
    for (const path of [file, join(folder, 'link')]) {
      expect((await readRegularFile(path, 3)).toString()).toBe('abc');
      expect(readRegularFileSync(path, 3).toString()).toBe('abc');
    }
  });

  it.runIf(process.platform === 'linux')('readRegularFile reads the whole file if it is longer than the system says', async () => {
    expect(await readRegularFile('/proc/version', 0)).toEqual(readFileSync('/proc/version'));
  });

  it('readRegularFile refuses pipes, devices and large files without reading them', async () => {
    const folder = createTemporaryFolder();
    for (const path of [createPipe(join(folder, 'pipe')), '/dev/zero']) {
      const message = `${path} cannot be read: it is not a regular file.`;
      expect(await expectFailure(readRegularFile(path, 10))).toMatchObject({ code: 'BAD_INPUT', message });
      expect(() => readRegularFileSync(path, 10)).toThrow(message);
    }
    const file = createSparseFile(join(folder, 'large'));
    expect((await expectFailure(readRegularFile(file, 1000))).message).toBe(
      `${file} cannot be read: it has 1200000000 bytes, but at most 1000 are allowed.`,
    );
  });

  it('readRegularFile keeps the error codes of a missing file and of a folder', async () => {
    await expect(readRegularFile(createTemporaryFolder(), 1)).rejects.toMatchObject({ code: 'EISDIR' });
    await expect(readRegularFile(join(createTemporaryFolder(), 'none'), 1)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe.runIf(process.platform !== 'win32')('a folder with pipes and sparse files', () => {
  it.each([
    ['a pipe', createPipe],
    ['a sparse file', createSparseFile],
  ])('a reader is neither blocked nor exhausted by %s in its folder', async (_name, create) => {
    const folder = createTemporaryFolder();
    const path = create(join(folder, JOURNAL_FILE));
    const refused = { code: 'BAD_INPUT', message: expect.stringContaining(`${path} cannot be read: it`) as string };
    expect(await expectFailure(readJournalFileEnds(folder, await listJournalFileNames(folder)))).toMatchObject(refused);
    expect(await expectFailure(readRawJournalLines(path))).toMatchObject(refused);
    expect(await expectFailure(readJsonFile(path))).toMatchObject(refused);
    mkdirSync(join(folder, 'eu'));
    create(join(folder, 'eu', 'password'));
    expect(() => credentialsFromFolder(folder).read('eu')).toThrow(/cannot be read: it/);
  });

  it('withLockFile takes over a lock file that is a pipe', async () => {
    const lock = createPipe(join(createTemporaryFolder(), 'lock'));
    execFileSync('touch', ['-d', '1 hour ago', lock]);
    expect(await withLockFile(lock, () => Promise.resolve('done'))).toBe('done');
  });
});
