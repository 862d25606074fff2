import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { GatewayError } from '../src/model/error';
import { fileFault } from '../src/transfer/file-fault';
import { checkFolder } from '../src/transfer/folder';
import { readJsonFile } from '../src/transfer/json-file';
import { FileOutput } from '../src/transfer/outputs';
import { HOST, isAlive, isOver, leftovers, PartialFile, sweep, syncFolder, targetOfPartial } from '../src/transfer/partial-file';
import { patiently, removeFile } from '../src/transfer/patience';
import { failure } from './library/appliance';
import { withHandles } from './library/journal';
import { openFiles } from './support/open-files';
import { temporaryFolder } from './support/temporary';

// What stands between a transfer and the disk: words for its faults, and files that are whole or not there.

const names = (place: string): string[] => readdirSync(place).sort();
const fault = (code: string): Error => Object.assign(new Error('broken'), { code });

describe('a fault of the file system', () => {
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
  ])('%s is told in words', (code, words) => {
    const { code: told, message, details } = fileFault(fault(code), '/x/y', 'read');
    expect([told, message]).toEqual(['BAD_INPUT', `/x/y cannot be read: ${words} (${code}).`]);
    expect(details).toEqual({ sent: false, extra: { system: code, file: '/x/y' } });
  });

  it.each(['ENOSPC', 'EDQUOT', 'EFBIG'])('%s is a lack of room', (code) => {
    const { code: told, message, details } = fileFault(fault(code), '/x', 'written');
    const words = `/x cannot be written: there is no room left on the disk (${code}). Make room, then try again.`;
    expect([told, message, details]).toEqual(['LIMIT', words, { sent: false, extra: { system: code, file: '/x' } }]);
  });

  it('without a code is told in its own words, and one that is told already stays', () => {
    expect(fileFault(new Error('odd'), '/x', 'written').message).toBe('/x cannot be written: odd.');
    const told = new GatewayError('LIMIT', 'Told.');
    expect(fileFault(told, '/x', 'read')).toBe(told);
  });

  it('is told of a folder', async () => {
    const place = temporaryFolder();
    await checkFolder(place);
    writeFileSync(join(place, 'x'), '');
    expect((await failure(checkFolder(join(place, 'x')))).message).toBe(`${join(place, 'x')} is no folder.`);
    const none = join(place, 'none');
    expect((await failure(checkFolder(none))).message).toBe(`${none} cannot be written: it, or its folder, does not exist (ENOENT).`);
  });
});

describe('a file that another program has open for a moment', () => {
  const held = (code: string, times: number): (() => Promise<string>) => {
    let left = times;
    return () => (left-- > 0 ? Promise.reject(fault(code)) : Promise.resolve('done'));
  };

  it('is waited for on Windows, but not for ever', async () => {
    const waited = async (code: string): Promise<void> => {
      expect(await patiently(held(code, 3), 'win32')).toBe('done');
      await expect(patiently(held(code, 1000), 'win32')).rejects.toMatchObject({ code });
    };
    await Promise.all(['EPERM', 'EACCES', 'EBUSY'].map(waited));
  });

  it('is none elsewhere, nor what fails for another reason', async () => {
    await expect(patiently(held('EPERM', 1), 'linux')).rejects.toMatchObject({ code: 'EPERM' });
    await expect(patiently(held('ENOSPC', 1), 'win32')).rejects.toMatchObject({ code: 'ENOSPC' });
    await removeFile(join(temporaryFolder(), 'none'));
    await expect(patiently(() => Promise.reject(new Error('without a code')), 'win32')).rejects.toThrow('without a code');
  });
});

it('a file of JSON is what it holds, nothing where it is none, and not there where it is not', async () => {
  const file = join(temporaryFolder(), 'x.json');
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
  expect((await failure(readJsonFile(join(file, '..')))).message).toMatch(/ cannot be read: it is a folder \(EISDIR\)\.$/);
});

describe('a file that is being written', () => {
  it('is beside its target, for its owner only, until it is whole', async () => {
    const place = temporaryFolder();
    const target = join(place, 'x');
    const [first, second] = [await PartialFile.create(target), await PartialFile.create(target)];
    const [one, two] = [first, second].map(({ path }) => /^(.*)\.([0-9a-f]{8}-\d+)-(\d+)\.partial$/.exec(path));
    expect([one?.[1], one?.[2], Number(two?.[3]) - Number(one?.[3])]).toEqual([target, `${HOST}-${process.pid}`, 1]);
    expect([first, second].map(({ path }) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600]);
    await first.write(Buffer.from('abc'));
    await first.write(Buffer.from('def'));
    await first.close(true);
    await first.close(true);
    // Neither is a leftover, and the folder is swept.
    await sweep(target);
    expect([await leftovers(place), names(place).length]).toEqual([[], 2]);
    await first.commit();
    await first.discard();
    await second.discard();
    await second.discard();
    expect([names(place), readFileSync(target, 'utf8')]).toEqual([['x'], 'abcdef']);
    await expect(PartialFile.create(join(place, 'none/x'))).rejects.toMatchObject({ code: 'ENOENT' });
    expect(openFiles()).toEqual([]);
  });

  it('is on the disk before it has its name, where that is asked for', async () => {
    const place = temporaryFolder();
    for (const durable of [true, false]) {
      let synced = 0;
      await withHandles({ sync: (own) => (synced++, own()) }, async () => {
        const output = await FileOutput.create(join(place, 'x'), durable);
        await output.write(Buffer.from(String(durable)));
        expect(await output.end()).toBe(join(place, 'x'));
      });
      // The file, and the folder with its name.
      expect([synced, readFileSync(join(place, 'x'), 'utf8')]).toEqual([durable ? 2 : 0, String(durable)]);
    }
    await syncFolder(join(place, 'none'));
    await withHandles({ sync: () => Promise.reject(fault('EINVAL')) }, () => syncFolder(place));
    expect(openFiles()).toEqual([]);
  });

  it('says of its target what is wrong with it', async () => {
    const target = join(temporaryFolder(), 'x');
    const output = await FileOutput.create(target, true);
    await withHandles({ write: () => Promise.reject(fault('EIO')), sync: () => Promise.reject(fault('ENOSPC')) }, async () => {
      expect((await failure(output.write(Buffer.from('x')))).message).toBe(`${target} cannot be written: the disk does not answer (EIO).`);
      expect((await failure(output.end())).code).toBe('LIMIT');
    });
    await output.discard();
    expect(names(join(target, '..'))).toEqual([]);
    mkdirSync(join(target, 'y'), { recursive: true });
    expect((await failure(FileOutput.create(target, true))).message).toBe(
      `${target} cannot be written: it is there already and no ordinary file.`,
    );
    const none = join(target, 'none/x');
    expect((await failure(FileOutput.create(none, true))).message).toContain(`${none} cannot be written: it, or its folder`);
  });

  it('that its process has left is swept: that of an ended one, and of another machine after half a day', async () => {
    const place = temporaryFolder();
    const { pid: ended } = spawnSync(process.execPath, ['-e', '']);
    const left = (who: string, target = 'x'): string => `${target}.${who}-1.partial`;
    const mine = [left(`${HOST}-${ended}`), left(`${HOST}-${process.pid}`), left('0badcafe-1')];
    const others = [left(`${HOST}-${process.ppid}`), left(`0badcafe-${ended}`), 'x.partial', `${mine[0]}s`, `x${HOST}-${ended}-1.partial`];
    for (const name of [...mine, ...others]) writeFileSync(join(place, name), '');
    const past = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
    utimesSync(join(place, left('0badcafe-1')), past(12.1), past(12.1));
    utimesSync(join(place, left(`0badcafe-${ended}`)), past(11.9), past(11.9));
    utimesSync(join(place, 'x.partial'), past(100), past(100));
    expect((await leftovers(place)).toSorted()).toEqual(mine.toSorted());
    writeFileSync(join(place, left(`${HOST}-${ended}`, 'y')), '');
    await sweep(join(place, 'x'));
    expect(names(place)).toEqual([...others, left(`${HOST}-${ended}`, 'y')].sort());
    await sweep(join(place, 'none/x'));
    expect([targetOfPartial(mine[0] ?? ''), ...others.slice(2).map(targetOfPartial)]).toEqual(['x', undefined, undefined, undefined]);
    expect(await isOver(join(place, 'gone'), '0badcafe', 1)).toBe(false);
  });

  it('belongs to a process that lives, also where it is another user’s', () => {
    expect([isAlive(process.pid), isAlive(spawnSync(process.execPath, ['-e', '']).pid)]).toEqual([true, false]);
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw fault('EPERM');
    });
    expect(isAlive(1)).toBe(true);
    expect(kill).toHaveBeenCalledWith(1, 0);
    kill.mockRestore();
  });
});
