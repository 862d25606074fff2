import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { GatewayError } from '../../../src/model/error';
import { toFileError } from '../../../src/files/file-error';
import { checkFolderWritable } from '../../../src/files/file-error';
import { readJsonFile } from '../../../src/files/read-json-file';
import { FileOutput } from '../../../src/transfer/outputs';
import {
  HOST_NAME_HASH,
  isProcessAlive,
  isOwnerProcessGone,
  findStalePartialFiles,
  AtomicFile,
  removeStalePartialFiles,
  syncFolderToDisk,
  parsePartialFileTarget,
} from '../../../src/files/atomic-file';
import { retryWhileLocked, removeFile } from '../../../src/files/retry-locked';
import { expectFailure } from '../../helpers/simulated-appliance';
import { withPatchedFileHandles } from '../../helpers/journal';
import { listOpenFiles } from '../../helpers/open-files';
import { createTemporaryFolder } from '../../helpers/temporary';

// Tests the layer between transfers and the disk.

const names = (place: string): string[] => readdirSync(place).sort();
const fault = (code: string): Error => Object.assign(new Error('broken'), { code });

describe('toFileError', () => {
  it.each([
    ['ENOENT', 'it, or its folder, does not exist'],
    ['ENOTDIR', 'a part of its path is not a folder'],
    ['EISDIR', 'it is a folder'],
    ['EACCES', 'this process may not use it'],
    ['EPERM', 'this process may not use it'],
    ['EROFS', 'the file system is read-only'],
    ['ELOOP', 'it is a symbolic link, or links lead in a circle'],
    ['EMFILE', 'this process has too many files open'],
    ['ENFILE', 'this machine has too many files open'],
    ['EBUSY', 'another program uses it'],
    ['EIO', 'the disk does not answer'],
    ['EODD', 'broken'],
  ])('toFileError explains the error %s in words', (code, words) => {
    const { code: told, message, details } = toFileError(fault(code), '/x/y', 'read');
    expect([told, message]).toEqual(['BAD_INPUT', `/x/y cannot be read: ${words} (${code}).`]);
    expect(details).toMatchObject({ sent: false, extra: { system: code, file: '/x/y' } });
  });

  it.each(['ENOSPC', 'EDQUOT', 'EFBIG'])('toFileError treats the error %s as a full disk', (code) => {
    const { code: told, message, details } = toFileError(fault(code), '/x', 'written');
    const words = `/x cannot be written: there is no room left on the disk (${code}). Free space there, for example by removing old backups or journals, then try again.`;
    expect([told, message, details]).toEqual([
      'LIMIT',
      words,
      { sent: false, extra: { system: code, file: '/x' }, statusReason: 'disk-full' },
    ]);
  });

  it('toFileError uses the message of errors without a code and keeps a GatewayError', () => {
    expect(toFileError(new Error('odd'), '/x', 'written').message).toBe('/x cannot be written: odd.');
    const told = new GatewayError('LIMIT', 'Told.');
    expect(toFileError(told, '/x', 'read')).toBe(told);
  });

  it('toFileError explains a folder that is not writable', async () => {
    const place = createTemporaryFolder();
    await checkFolderWritable(place);
    writeFileSync(join(place, 'x'), '');
    expect((await expectFailure(checkFolderWritable(join(place, 'x')))).message).toBe(`${join(place, 'x')} is not a folder.`);
    const none = join(place, 'none');
    expect((await expectFailure(checkFolderWritable(none))).message).toBe(
      `${none} cannot be written: it, or its folder, does not exist (ENOENT).`,
    );
  });
});

describe('retryWhileLocked', () => {
  const held = (code: string, times: number): (() => Promise<string>) => {
    let left = times;
    return () => (left-- > 0 ? Promise.reject(fault(code)) : Promise.resolve('done'));
  };

  it('retryWhileLocked retries on Windows, for a limited time', async () => {
    const waited = async (code: string): Promise<void> => {
      expect(await retryWhileLocked(held(code, 3), 'win32')).toBe('done');
      await expect(retryWhileLocked(held(code, 1000), 'win32')).rejects.toMatchObject({ code });
    };
    await Promise.all(['EPERM', 'EACCES', 'EBUSY'].map(waited));
  });

  it('retryWhileLocked does not retry on other systems or for other errors', async () => {
    await expect(retryWhileLocked(held('EPERM', 1), 'linux')).rejects.toMatchObject({ code: 'EPERM' });
    await expect(retryWhileLocked(held('ENOSPC', 1), 'win32')).rejects.toMatchObject({ code: 'ENOSPC' });
    await removeFile(join(createTemporaryFolder(), 'none'));
    await expect(retryWhileLocked(() => Promise.reject(new Error('without a code')), 'win32')).rejects.toThrow('without a code');
  });
});

it('readJsonFile distinguishes JSON, other content and a missing file', async () => {
  const file = join(createTemporaryFolder(), 'x.json');
  expect(await readJsonFile(file)).toBeUndefined();
  for (const [text, value] of [
    ['{"a":1}', { a: 1 }],
    ['\ufeff[1]', [1]],
    ['null', null],
    ['{', undefined],
    ['\ufeff\ufeff1', undefined],
    ['1\ufeff', undefined],
  ] as const) {
    writeFileSync(file, text);
    expect(await readJsonFile(file)).toStrictEqual({ value });
  }
  expect((await expectFailure(readJsonFile(join(file, '..')))).message).toMatch(/ cannot be read: it is a folder \(EISDIR\)\.$/);
});

describe('AtomicFile', () => {
  it('AtomicFile writes a file beside its target, which only the owner can read, until it is complete', async () => {
    const place = createTemporaryFolder();
    const target = join(place, 'x');
    const [first, second] = [await AtomicFile.create(target), await AtomicFile.create(target)];
    const [one, two] = [first, second].map(({ path }) => /^(.*)\.([0-9a-f]{8}-\d+)-(\d+)\.partial$/.exec(path));
    expect([one?.[1], one?.[2], Number(two?.[3]) - Number(one?.[3])]).toEqual([target, `${HOST_NAME_HASH}-${process.pid}`, 1]);
    expect([first, second].map(({ path }) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600]);
    await first.write(Buffer.from('abc'));
    await first.write(Buffer.from('def'));
    await first.close(true);
    await first.close(true);
    // Neither is stale, and the folder is clean.
    await removeStalePartialFiles(target);
    expect([await findStalePartialFiles(place), names(place).length]).toEqual([[], 2]);
    await first.commit();
    await first.discard();
    await second.discard();
    await second.discard();
    expect([names(place), readFileSync(target, 'utf8')]).toEqual([['x'], 'abcdef']);
    await expect(AtomicFile.create(join(place, 'none/x'))).rejects.toMatchObject({ code: 'ENOENT' });
    expect(listOpenFiles()).toEqual([]);
  });

  it('AtomicFile syncs the file before the rename if the option is set', async () => {
    const place = createTemporaryFolder();
    for (const durable of [true, false]) {
      let synced = 0;
      await withPatchedFileHandles({ sync: (own) => (synced++, own()) }, async () => {
        const output = await FileOutput.create(join(place, 'x'), durable);
        await output.write(Buffer.from(String(durable)));
        expect(await output.end()).toBe(join(place, 'x'));
      });
      // The file, and the folder with its new name.
      expect([synced, readFileSync(join(place, 'x'), 'utf8')]).toEqual([durable ? 2 : 0, String(durable)]);
    }
    await syncFolderToDisk(join(place, 'none'));
    await withPatchedFileHandles({ sync: () => Promise.reject(fault('EINVAL')) }, () => syncFolderToDisk(place));
    expect(listOpenFiles()).toEqual([]);
  });

  it('AtomicFile names its target in errors', async () => {
    const target = join(createTemporaryFolder(), 'x');
    const output = await FileOutput.create(target, true);
    await withPatchedFileHandles({ write: () => Promise.reject(fault('EIO')), sync: () => Promise.reject(fault('ENOSPC')) }, async () => {
      expect((await expectFailure(output.write(Buffer.from('x')))).message).toBe(
        `${target} cannot be written: the disk does not answer (EIO).`,
      );
      expect((await expectFailure(output.end())).code).toBe('LIMIT');
    });
    await output.discard();
    expect(names(join(target, '..'))).toEqual([]);
    mkdirSync(join(target, 'y'), { recursive: true });
    expect((await expectFailure(FileOutput.create(target, true))).message).toBe(
      `${target} cannot be written: it exists and is not a regular file.`,
    );
    const none = join(target, 'none/x');
    expect((await expectFailure(FileOutput.create(none, true))).message).toContain(`${none} cannot be written: it, or its folder`);
  });

  it('AtomicFile removes partial files of ended processes at once, and of other machines after half a day', async () => {
    const place = createTemporaryFolder();
    const { pid: ended } = spawnSync(process.execPath, ['-e', '']);
    const left = (who: string, target = 'x'): string => `${target}.${who}-1.partial`;
    const mine = [left(`${HOST_NAME_HASH}-${ended}`), left(`${HOST_NAME_HASH}-${process.pid}`), left('0badcafe-1')];
    const others = [
      left(`${HOST_NAME_HASH}-${process.ppid}`),
      left(`0badcafe-${ended}`),
      'x.partial',
      `${mine[0]}s`,
      `x${HOST_NAME_HASH}-${ended}-1.partial`,
    ];
    for (const name of [...mine, ...others]) writeFileSync(join(place, name), '');
    const past = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
    utimesSync(join(place, left('0badcafe-1')), past(12.1), past(12.1));
    utimesSync(join(place, left(`0badcafe-${ended}`)), past(11.9), past(11.9));
    utimesSync(join(place, 'x.partial'), past(100), past(100));
    expect((await findStalePartialFiles(place)).toSorted()).toEqual(mine.toSorted());
    writeFileSync(join(place, left(`${HOST_NAME_HASH}-${ended}`, 'y')), '');
    await removeStalePartialFiles(join(place, 'x'));
    expect(names(place)).toEqual([...others, left(`${HOST_NAME_HASH}-${ended}`, 'y')].sort());
    await removeStalePartialFiles(join(place, 'none/x'));
    expect([parsePartialFileTarget(mine[0] ?? ''), ...others.slice(2).map(parsePartialFileTarget)]).toEqual([
      'x',
      undefined,
      undefined,
      undefined,
    ]);
    expect(await isOwnerProcessGone(join(place, 'gone'), '0badcafe', 1)).toBe(false);
  });

  it('AtomicFile keeps partial files of a living process, even of another user', () => {
    expect([isProcessAlive(process.pid), isProcessAlive(spawnSync(process.execPath, ['-e', '']).pid)]).toEqual([true, false]);
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw fault('EPERM');
    });
    expect(isProcessAlive(1)).toBe(true);
    expect(kill).toHaveBeenCalledWith(1, 0);
    kill.mockRestore();
  });
});
