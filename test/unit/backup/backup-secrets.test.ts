import { spawnSync } from 'node:child_process';
import { createCipheriv, createHmac, pbkdf2Sync } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, type Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it, vi } from 'vitest';
import { assertAuthenticManifest, signManifest } from '../../../src/backup/authenticity';
import { claimBackupName, removeStaleNameClaims } from '../../../src/backup/name-claim';
import {
  DecryptionStream,
  EncryptionStream,
  ENCRYPTION_METHOD,
  DECRYPTION_FAILED_MESSAGE,
  areMacsEqual,
} from '../../../src/backup/encryption';
import type { BackupFile, BackupManifest } from '../../../src/backup/manifest';
import { isFileUnchanged, openRegularFile } from '../../../src/files/open-regular-file';
import { HOST_NAME_HASH } from '../../../src/files/atomic-file';
import { expectFailure } from '../../helpers/simulated-appliance';
import { withPatchedFileHandles } from '../../helpers/journal';
import { useFastKeyDerivation } from '../../helpers/cheap-keypair';
import { listOpenFiles } from '../../helpers/open-files';
import { createTemporaryFolder } from '../../helpers/temporary';

useFastKeyDerivation();

// Keys take one round here.

const PASSPHRASE = 'of the night';
const CONTENT = 'twice as long as a block of the cipher, or a little more';

describe('encryption', () => {
  const salt = Buffer.from('0123456789abcdef', 'hex');
  const keys = pbkdf2Sync(PASSPHRASE, salt, 1, 80, 'sha256');
  const cipher = createCipheriv('aes-256-cbc', keys.subarray(0, 32), keys.subarray(32, 48));
  /** Encrypts like openssl enc, with the MAC of the manifest. */
  const written = Buffer.concat([Buffer.from('Salted__'), salt, cipher.update(CONTENT), cipher.final()]);
  const codeOf = (bytes: Buffer): string => createHmac('sha256', keys.subarray(48)).update(bytes).digest('hex');
  const through = async (bytes: Buffer, transform: Transform, size = 1 << 20): Promise<Buffer> => {
    const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
    return buffer(Readable.from(parts).pipe(transform));
  };
  const read = async (bytes: Buffer, code?: string, passphrase = PASSPHRASE, pieces?: number): Promise<string> =>
    (await through(bytes, new DecryptionStream(passphrase, code), pieces)).toString();

  it('an encrypted backup can be read by openssl, and its MAC covers all of it', async () => {
    expect(ENCRYPTION_METHOD).toBe('openssl-enc-aes-256-cbc-pbkdf2-sha256-600000');
    const encryption = await EncryptionStream.create(PASSPHRASE);
    expect(encryption.mac).toBeUndefined();
    const bytes = await through(Buffer.from(CONTENT), encryption, 7);
    expect([bytes.length, bytes.subarray(0, 8).toString()]).toEqual([written.length, 'Salted__']);
    expect(await read(bytes, encryption.mac)).toBe(CONTENT);
    const again = await EncryptionStream.create(PASSPHRASE);
    expect((await through(Buffer.from(CONTENT), again)).subarray(8, 16)).not.toEqual(bytes.subarray(8, 16));
  });

  it.each([1, 5, 8, 15, 16, 17, 1000])('the decryption of a backup accepts pieces of %i bytes, also without a MAC', async (pieces) => {
    for (const code of [codeOf(written), undefined]) expect(await read(written, code, PASSPHRASE, pieces)).toBe(CONTENT);
  });

  it('decryption refuses a changed or cut file and a wrong passphrase', async () => {
    const refused = 'The backup cannot be decrypted: the passphrase is wrong, or the file was changed.';
    expect(DECRYPTION_FAILED_MESSAGE).toBe(refused);
    const code = codeOf(written);
    for (const [bytes, expected, passphrase] of [
      [written, code, 'another'],
      [written, undefined, 'another'],
      [written, code.replace(/^./, (digit) => (digit === '0' ? '1' : '0')), PASSPHRASE],
      [Buffer.from(written).fill(0, 20, 21), code, PASSPHRASE],
      [written.subarray(0, -1), code, PASSPHRASE],
      [written.subarray(0, -1), undefined, PASSPHRASE],
      [written.subarray(0, 16), undefined, PASSPHRASE],
      [written.subarray(0, 15), undefined, PASSPHRASE],
      [written.subarray(0, 15), code, PASSPHRASE],
      [Buffer.alloc(0), code, PASSPHRASE],
    ] as const)
      expect(await expectFailure(read(bytes, expected, passphrase))).toMatchObject({ code: 'BAD_INPUT', message: refused });
    expect((await expectFailure(read(Buffer.from('Unsalted, and long enough')))).message).toBe(
      'The backup cannot be decrypted: it was not encrypted by openssl enc.',
    );
  });

  it('decryption compares every byte of the MAC', () => {
    expect([
      areMacsEqual('a0', 'a0'),
      areMacsEqual('a0', 'a1'),
      areMacsEqual('a0', 'a'),
      areMacsEqual('', ''),
      areMacsEqual('é', 'e'),
      areMacsEqual('e', 'é'),
    ]).toEqual([true, false, false, true, false, false]);
  });
});

describe('a manifest with a passphrase', () => {
  const bare: BackupFile = {
    file: 'vpn_S_20200101T000000.000Z.xml',
    kind: 'xml',
    bytes: 1,
    sha256: 'a',
    compression: null,
    encryption: ENCRYPTION_METHOD,
    content: { bytes: 1, sha256: 'c', verified: 'xml', fingerprint: 'd' },
  };
  const file = { ...bare, 'hmac-sha256': 'b' };
  const plain: BackupManifest = {
    format: 'gateway-backup/2',
    backup: 'vpn_S_20200101T000000.000Z',
    appliance: 'vpn',
    'serial-number': 'S',
    'host-name': null,
    'hardware-model': null,
    release: null,
    time: '2020-01-01T00:00:00.000Z',
    'password-protected': false,
    files: [file],
  };
  const readOutcome = async (manifest: BackupManifest, passphrase = PASSPHRASE): Promise<string> => {
    const error = await expectFailure(assertAuthenticManifest('/x', manifest, passphrase));
    expect(error.code).toBe('BAD_INPUT');
    return error.message;
  };

  it('the MAC of a manifest covers all fields, and other versions of this package compute the same MAC', async () => {
    const signed = await signManifest(plain, PASSPHRASE);
    const { method, salt = '', 'hmac-sha256': code } = signed.authentication ?? {};
    expect([method, salt]).toEqual(['hmac-sha256-pbkdf2-sha256-600000', expect.stringMatching(/^[0-9a-f]{32}$/)]);
    const key = pbkdf2Sync(PASSPHRASE, Buffer.from(salt, 'hex'), 1, 32, 'sha256');
    expect(code).toBe(
      createHmac('sha256', key)
        .update(`gateway-backup manifest\n${JSON.stringify(plain)}`)
        .digest('hex'),
    );
    expect((await signManifest(plain, PASSPHRASE)).authentication?.salt).not.toBe(salt);
    await assertAuthenticManifest('/x', signed, PASSPHRASE);
    const changed =
      '/x/vpn_S_20200101T000000.000Z.json: the passphrase is wrong, or the manifest was changed or made by somebody else. With a passphrase, only backups made with it are restored. Check the passphrase, or select another backup.';
    expect(await readOutcome(signed, 'another')).toBe(changed);
    for (const other of [{ 'serial-number': 'T' }, { time: '2020-01-01T00:00:00.001Z' }, { files: [{ ...file, sha256: 'x' }] }])
      expect(await readOutcome({ ...signed, ...other })).toBe(changed);
  });

  it('a manifest with a MAC is accepted only if everything in it was made with the passphrase', async () => {
    const signed = await signManifest(plain, PASSPHRASE);
    const without = { ...file, file: 'vpn_S_20200101T000000.000Z.bin', encryption: null };
    expect(await readOutcome({ ...signed, files: [file, without] })).toBe(
      `/x/${without.file} was made without a passphrase. With a passphrase, only backups made with it are restored. Omit the passphrase if you trust everybody who can write to the folder, or select another backup.`,
    );
    const before =
      '/x/vpn_S_20200101T000000.000Z.json has no authentication code from the passphrase, so it was changed or made by other software. Make a new backup. If you need this one and trust the folder, decrypt its file with openssl (docs/guide/backups.md shows how) and import it with a transfer node.';
    for (const files of [[bare], [file, bare], [{ ...file, encryption: 'another' }]])
      expect(await readOutcome(await signManifest({ ...plain, files }, PASSPHRASE))).toBe(before);
    expect(await readOutcome(plain)).toBe(before);
    expect(await readOutcome(await signManifest({ ...plain, format: 'gateway-backup/1' }, PASSPHRASE))).toBe(before);
  });
});

describe('claimBackupName', () => {
  const names = (folder: string): string[] => readdirSync(folder).sort();

  it('claimBackupName reserves a free name, which is free again after the release', async () => {
    const folder = createTemporaryFolder();
    const clock = vi.spyOn(Date, 'now').mockReturnValue(0);
    const first = await claimBackupName(folder, 'vpn', 'S');
    const toName = (later: number): string => `vpn_S_${new Date(first.time.getTime() + later).toISOString().replaceAll(/[-:]/g, '')}`;
    const file = join(folder, `${first.backup}.claim`);
    expect([first.backup, readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([
      toName(0),
      `${HOST_NAME_HASH}-${process.pid}`,
      0o600,
    ]);
    // Each of these names is taken. The next free one is reserved, and no claim stays behind.
    const used = ['.json', '.xml', '.bin', '.xml.gz', '.bin.enc', '.xml.gz.enc', '.claim'];
    for (const [index, ending] of used.entries()) writeFileSync(join(folder, toName(index + 1) + ending), '');
    const before = names(folder);
    const second = await claimBackupName(folder, 'vpn', 'S');
    expect(second.backup).toBe(toName(8));
    expect(names(folder)).toEqual([...before, `${toName(8)}.claim`].sort());
    await removeStaleNameClaims(folder);
    expect(names(folder)).toContain(`${toName(0)}.claim`);
    await first.release();
    await first.release();
    await second.release();
    expect(names(folder)).toEqual(before.filter((name) => name !== `${toName(0)}.claim`));
    clock.mockRestore();
    await expect(claimBackupName(join(folder, 'none'), 'vpn', 'S')).rejects.toMatchObject({ code: 'ENOENT' });
    expect(listOpenFiles()).toEqual([]);
  });

  it('claimBackupName throws if the claim cannot be written', async () => {
    const folder = createTemporaryFolder();
    const broken = () => Promise.reject(Object.assign(new Error('broken disk'), { code: 'EIO' }));
    await withPatchedFileHandles({ write: broken }, () => expect(claimBackupName(folder, 'vpn', 'S')).rejects.toThrow('broken disk'));
    expect([names(folder), listOpenFiles()]).toEqual([[], []]);
  });

  it('claimBackupName removes the claims of killed processes and nothing else', async () => {
    const folder = createTemporaryFolder();
    const { pid: ended } = spawnSync(process.execPath, ['-e', '']);
    const nameOf = (index: number): string => `vpn_S_20200101T00000${index}.000Z.claim`;
    const texts = [
      `${HOST_NAME_HASH}-${ended}`,
      `${HOST_NAME_HASH}-${process.pid}`,
      '0badcafe-1',
      `${HOST_NAME_HASH}-${process.ppid}`,
      '0badcafe-1',
      `${HOST_NAME_HASH}-${ended}-`.padEnd(65, 'x'),
    ];
    for (const [index, text] of texts.entries()) writeFileSync(join(folder, nameOf(index)), text);
    const past = new Date(Date.now() - 13 * 3_600_000);
    utimesSync(join(folder, nameOf(2)), past, past);
    mkdirSync(join(folder, nameOf(6)));
    symlinkSync(join(folder, nameOf(3)), join(folder, nameOf(7)));
    writeFileSync(join(folder, nameOf(8)), `${HOST_NAME_HASH}-${ended}-`.padEnd(64, 'x'));
    writeFileSync(join(folder, 'notes'), `${HOST_NAME_HASH}-${ended}`);
    await removeStaleNameClaims(folder);
    expect(names(folder)).toEqual(['notes', ...[3, 4, 5, 6, 7].map(nameOf)]);
  });
});

describe('openRegularFile', () => {
  it('openRegularFile opens regular files and nothing else', async () => {
    const folder = createTemporaryFolder();
    const path = join(folder, 'x');
    writeFileSync(path, 'abc');
    const { handle, stats, path: own } = await openRegularFile(path);
    expect([own, stats.size, (await handle.readFile()).toString()]).toEqual([path, 3n, 'abc']);
    await handle.close();
    symlinkSync(path, join(folder, 'link'));
    spawnSync('mkfifo', [join(folder, 'pipe')]);
    const readOutcome = async (name: string, noFollow?: number): Promise<string> =>
      (await expectFailure(openRegularFile(join(folder, name), noFollow))).message.replace(join(folder, name), 'x');
    expect(await readOutcome('link')).toBe('x cannot be read: it is a symbolic link, or links lead in a circle (ELOOP).');
    // On Windows, opening follows the link first.
    expect(await readOutcome('link', 0)).toBe('x cannot be read: it is not a regular file.');
    await (await openRegularFile(path, 0)).handle.close();
    for (const name of ['.', 'pipe']) expect(await readOutcome(name)).toBe('x cannot be read: it is not a regular file.');
    expect(await readOutcome('none')).toBe('x cannot be read: it, or its folder, does not exist (ENOENT).');
    expect(listOpenFiles()).toEqual([]);
  });

  it('openRegularFile reports a file as unchanged while it has the same name and content', async () => {
    const path = join(createTemporaryFolder(), 'x');
    const changes: [what: string, change: () => void, there: boolean][] = [
      ['nothing', () => undefined, true],
      ['it was read', () => void readFileSync(path), true],
      ['it has more in it', () => writeFileSync(path, 'abcd'), false],
      ['it was written to', () => utimesSync(path, 2, 2), false],
      ['it is gone', () => rmSync(path), false],
      ['it is another', () => (writeFileSync(`${path}y`, 'abc'), utimesSync(`${path}y`, 1, 1), renameSync(`${path}y`, path)), false],
      ['it is a folder', () => (rmSync(path), mkdirSync(path)), false],
    ];
    for (const [what, change, there] of changes) {
      rmSync(path, { recursive: true, force: true });
      writeFileSync(path, 'abc');
      utimesSync(path, 1, 1);
      const opened = await openRegularFile(path);
      change();
      expect([what, await isFileUnchanged(opened)]).toEqual([what, there]);
      await opened.handle.close();
    }
  });
});
