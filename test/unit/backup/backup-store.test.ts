import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ENCRYPTION_METHOD, DECRYPTION_FAILED_MESSAGE } from '../../../src/backup/encryption';
import type { BackupFile, BackupManifest } from '../../../src/backup/manifest';
import { openRegularFile, type RegularFile } from '../../../src/files/open-regular-file';
import { openVerifiedBackupContent, openBackupContent, BackupFileOutput } from '../../../src/backup/stored-file';
import { verifyBackups, verifyBackupFile } from '../../../src/backup/verify';
import { expectFailure } from '../../helpers/simulated-appliance';
import { createRunContext } from '../../helpers/call';
import { withPatchedFileHandles } from '../../helpers/journal';
import { useFastKeyDerivation } from '../../helpers/cheap-keypair';
import { listOpenFiles } from '../../helpers/open-files';
import { createTemporaryFolder } from '../../helpers/temporary';

useFastKeyDerivation();

// How a configuration is stored and read again.

const NAME = 'vpn-1_S1_20200101T000000.000Z';
const CONTENT = `<configuration>${'<user>j.doe</user>'.repeat(50)}</configuration>`;
const PASSPHRASE = 'of the night';
const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');

interface Made {
  readonly path: string;
  readonly file: BackupFile;
}

/** One stored file with its manifest entry. */
async function stored({
  gzip = false,
  passphrase,
  content = CONTENT,
}: { gzip?: boolean; passphrase?: string; content?: string } = {}): Promise<Made> {
  const path = join(createTemporaryFolder(), `${NAME}.xml`);
  const output = await BackupFileOutput.create(path, gzip, passphrase);
  const half = content.length >> 1;
  for (const part of [content.slice(0, half), content.slice(half)]) await output.write(Buffer.from(part));
  const { bytes, sha256: hash, mac } = await output.end();
  await output.partial.commit();
  const file: BackupFile = {
    file: `${NAME}.xml`,
    kind: 'xml',
    bytes,
    sha256: hash,
    compression: gzip ? 'gzip' : null,
    encryption: passphrase === undefined ? null : ENCRYPTION_METHOD,
    ...(mac !== undefined && { 'hmac-sha256': mac }),
    content: { bytes: content.length, sha256: sha256(content), verified: 'xml', fingerprint: 'f' },
  };
  return { path, file };
}

async function opened(path: string): Promise<RegularFile> {
  const found = await openRegularFile(path);
  onTestFinished(() => found.handle.close().catch(() => undefined));
  return found;
}

const call = (signal?: AbortSignal) => createRunContext({ url: 'https://127.0.0.1:1' }, signal ? { signal } : {});

describe('BackupFileOutput', () => {
  it('BackupFileOutput writes the content with its length and hash, readable only by the owner', async () => {
    const plain = await stored();
    const bytes = readFileSync(plain.path);
    expect(bytes.toString()).toBe(CONTENT);
    expect(plain.file).toMatchObject({ bytes: CONTENT.length, sha256: sha256(CONTENT) });
    expect(plain.file).not.toHaveProperty('hmac-sha256');
    const packed = await stored({ gzip: true });
    expect(gunzipSync(readFileSync(packed.path)).toString()).toBe(CONTENT);
    const secret = await stored({ gzip: true, passphrase: PASSPHRASE });
    expect(readFileSync(secret.path).subarray(0, 8).toString()).toBe('Salted__');
    expect(secret.file['hmac-sha256']).toMatch(/^[0-9a-f]{64}$/);
    for (const { path, file } of [packed, secret])
      expect([file.bytes, file.sha256]).toEqual([readFileSync(path).length, sha256(readFileSync(path))]);
  });

  it.each([{}, { gzip: true }, { passphrase: PASSPHRASE }, { gzip: true, passphrase: PASSPHRASE }])(
    'BackupFileOutput content can be read several times: %j',
    async (how) => {
      const { path, file } = await stored(how);
      const { handle } = await opened(path);
      for (let time = 0; time < 2; time++) {
        const hash = createHash('sha256');
        expect((await buffer(openBackupContent(handle, file, how.passphrase, hash))).toString()).toBe(CONTENT);
        expect(hash.digest('hex')).toBe(file.sha256);
      }
      expect((await buffer(openBackupContent(handle, file, how.passphrase))).toString()).toBe(CONTENT);
      if (how.passphrase)
        expect(() => openBackupContent(handle, file, undefined)).toThrow(`${file.file} is encrypted. Enter the passphrase.`);
    },
  );

  it.each([{}, { gzip: true }])('BackupFileOutput reports a write error and leaves no file: %j', async ({ gzip = false }) => {
    const place = createTemporaryFolder();
    const output = await BackupFileOutput.create(join(place, 'x.xml'), gzip, undefined);
    const broken = () => Promise.reject(Object.assign(new Error('no room'), { code: 'ENOSPC' }));
    await withPatchedFileHandles({ write: broken }, async () => {
      const work = async (): Promise<void> => {
        for (let time = 0; time < 200; time++) await output.write(Buffer.alloc(1 << 16, Math.random().toString()));
        await output.end();
      };
      const error = await expectFailure(work());
      expect([error.code, error.message]).toEqual(['LIMIT', expect.stringContaining(`${join(place, 'x.xml')} cannot be written`)]);
    });
    await output.discard();
    const other = await BackupFileOutput.create(join(place, 'y.xml'), false, undefined);
    await withPatchedFileHandles({ write: () => Promise.reject(Object.assign(new Error('broken'), { code: 'EIO' })) }, async () => {
      const work = async (): Promise<void> => {
        for (let time = 0; time < 200; time++) await other.write(Buffer.alloc(1 << 16));
      };
      expect((await expectFailure(work())).message).toBe(`${join(place, 'y.xml')} cannot be written: the disk does not answer (EIO).`);
    });
    await other.discard();
    expect(readdirSync(place)).toEqual([]);
    expect((await expectFailure(BackupFileOutput.create(join(place, 'none', 'x'), gzip, undefined))).message).toContain(
      'cannot be written',
    );
  });

  it('BackupFileOutput syncs its content to the disk before the file gets its name', async () => {
    let synced = 0;
    await withPatchedFileHandles({ sync: (own) => (synced++, own()) }, async () => void (await stored()));
    expect(synced).toBe(1);
  });

  it('BackupFileOutput leaves no file when it is discarded', async () => {
    const place = createTemporaryFolder();
    for (const gzip of [true, false]) {
      const output = await BackupFileOutput.create(join(place, 'x.xml'), gzip, PASSPHRASE);
      await output.write(Buffer.from('x'));
      await output.discard();
    }
    expect(readdirSync(place)).toEqual([]);
  });
});

describe('verifyBackupFile', () => {
  const check = async ({ path, file }: Made, passphrase?: string, signal?: AbortSignal): Promise<string> =>
    verifyBackupFile(await opened(path), file, passphrase, call(signal));
  const verifyMessage = async (storedFile: Made, passphrase?: string): Promise<string> => {
    const error = await expectFailure(check(storedFile, passphrase));
    expect(error.code).toBe('BAD_INPUT');
    return error.message.replace(storedFile.path, 'x');
  };
  const rewrite = ({ path }: Made, change: (bytes: Buffer) => Buffer): void => writeFileSync(path, change(readFileSync(path)));
  const about = (storedFile: Made, more: Partial<BackupFile>): Made => ({ ...storedFile, file: { ...storedFile.file, ...more } });

  it('verifyBackupFile checks the content, or only the hash if no passphrase is given', async () => {
    for (const how of [{}, { gzip: true }, { passphrase: PASSPHRASE }, { gzip: true, passphrase: PASSPHRASE }]) {
      const storedFile = await stored(how);
      expect(await check(storedFile, how.passphrase)).toBe('content');
      if (how.passphrase) expect(await check(storedFile)).toBe('hash');
      const { bytes, fingerprint } = storedFile.file.content;
      const other = about(storedFile, { content: { ...storedFile.file.content, sha256: sha256('x') } });
      expect(await verifyMessage(other, how.passphrase)).toBe('x does not hold the exported content.');
      const shorter = about(storedFile, { content: { ...storedFile.file.content, bytes: bytes - 1, fingerprint } });
      expect(await verifyMessage(shorter, how.passphrase)).toBe('x does not hold the exported content: it is longer.');
      expect(await verifyMessage(about(storedFile, { sha256: sha256('x') }), how.passphrase)).toBe('x was changed: its SHA-256 differs.');
    }
  });

  it('verifyBackupFile names the fault of a file', async () => {
    const plain = await stored({ content: '<configuration><a></configuration>' });
    expect(await verifyMessage(plain)).toMatch(/^x is not a complete configuration: .+\.$/);
    const cut = await stored();
    rewrite(cut, (bytes) => bytes.subarray(0, -1));
    expect(await verifyMessage(cut)).toMatch(/^x is not a complete configuration: .+\.$/);
    const packed = await stored({ gzip: true });
    rewrite(packed, (bytes) => Buffer.concat([bytes.subarray(0, 20), Buffer.alloc(20), bytes.subarray(40)]));
    expect(await verifyMessage(packed)).toBe('x is damaged: it cannot be decompressed.');
    const none = await stored({ gzip: true });
    rewrite(none, () => Buffer.from('no archive'));
    expect(await verifyMessage(none)).toBe('x is damaged: it cannot be decompressed.');
    const other = await stored({ gzip: true });
    rewrite(other, () => gzipSync(CONTENT.replace('j.doe', 'j.doo')));
    expect(await verifyMessage(other)).toBe('x was changed: its SHA-256 differs.');
  });

  it('verifyBackupFile with a passphrase requires a file that the passphrase encrypted', async () => {
    for (const gzip of [true, false]) {
      const storedFile = await stored({ gzip, passphrase: PASSPHRASE });
      expect(await verifyMessage(storedFile, 'another')).toContain(DECRYPTION_FAILED_MESSAGE);
      expect(await verifyMessage(about(storedFile, { 'hmac-sha256': '0'.repeat(64) }), PASSPHRASE)).toContain(DECRYPTION_FAILED_MESSAGE);
      const bytes = readFileSync(storedFile.path);
      for (const where of [20, bytes.length - 5]) {
        rewrite(storedFile, () => Buffer.from(bytes).fill((bytes[where] ?? 0) ^ 1, where, where + 1));
        expect(await verifyMessage(storedFile, PASSPHRASE)).toContain(DECRYPTION_FAILED_MESSAGE);
        expect(await verifyMessage(storedFile)).toBe('x was changed: its SHA-256 differs.');
      }
    }
  });

  it('verifyBackupFile stops when it is canceled', async () => {
    const error = await expectFailure(check(await stored(), undefined, AbortSignal.abort()));
    expect([error.code, error.message, error.details.sent]).toEqual(['ABORTED', 'Canceled while a backup was read.', false]);
  });
});

describe('openVerifiedBackupContent', () => {
  const readContent = async ({ path, file }: Made, passphrase?: string): Promise<string> =>
    (await buffer(openVerifiedBackupContent(await opened(path), file, passphrase))).toString();

  it.each([{}, { gzip: true }, { gzip: true, passphrase: PASSPHRASE }])(
    'openVerifiedBackupContent returns the exported content: %j',
    async (how) => {
      expect(await readContent(await stored(how), how.passphrase)).toBe(CONTENT);
    },
  );

  it.each<[string, { gzip?: boolean; passphrase?: string }, (bytes: Buffer) => Buffer]>([
    ['other content', {}, (bytes) => Buffer.from(bytes.toString().replace('j.doe', 'j.doo'))],
    ['more of it', {}, (bytes) => Buffer.concat([bytes, Buffer.from(' ')])],
    ['less of it', {}, (bytes) => bytes.subarray(0, -1)],
    ['the same, packed in another way', { gzip: true }, () => gzipSync(CONTENT, { level: 1 })],
    ['what cannot be unpacked', { gzip: true }, (bytes) => Buffer.from(bytes.fill(0, 12, 40))],
    ['what cannot be decrypted', { passphrase: PASSPHRASE }, (bytes) => Buffer.from(bytes.fill(0, 20, 40))],
  ])('openVerifiedBackupContent ends before the last byte if the file becomes %s', async (_what, how, change) => {
    const storedFile = await stored(how);
    const file = await opened(storedFile.path);
    writeFileSync(storedFile.path, change(readFileSync(storedFile.path)));
    const content = openVerifiedBackupContent(file, storedFile.file, how.passphrase);
    let bytes = 0;
    const read = async (): Promise<void> => {
      for await (const part of content as AsyncIterable<Buffer>) bytes += part.length;
    };
    const error = await expectFailure(read());
    expect([error.code, error.message]).toEqual([
      'BAD_INPUT',
      `${storedFile.path} was changed while it was sent, so it was not sent to its end. Nothing was restored.`,
    ]);
    expect(bytes).toBeLessThan(CONTENT.length);
  });

  it.each([{}, { gzip: true }])('openVerifiedBackupContent reports a read error: %j', async (how) => {
    const storedFile = await stored(how);
    const file = await opened(storedFile.path);
    const broken = () => Promise.reject(Object.assign(new Error('broken disk'), { code: 'EIO' }));
    await withPatchedFileHandles({ read: broken }, async () => {
      const error = await expectFailure(buffer(openVerifiedBackupContent(file, storedFile.file, undefined)));
      expect([error.code, error.message]).toEqual(['BAD_INPUT', `${storedFile.path} cannot be read: the disk does not answer (EIO).`]);
    });
    const again = await opened(storedFile.path);
    await withPatchedFileHandles({ read: () => Promise.reject(new Error('odd')) }, async () => {
      expect((await expectFailure(buffer(openVerifiedBackupContent(again, storedFile.file, undefined)))).message).toBe(
        `${storedFile.path} cannot be read: odd.`,
      );
    });
  });
});

describe('verifyBackups', () => {
  it('verifyBackups reports every backup, and files that belong to none', async () => {
    const storedFile = await stored();
    const place = storedFile.path.replace(/\/[^/]+$/, '');
    const time = '2020-01-01T00:00:00.000Z';
    const manifest = {
      format: 'gateway-backup/1',
      backup: NAME,
      appliance: 'vpn-1',
      'serial-number': 'S1',
      'host-name': null,
      'hardware-model': null,
      release: null,
      time,
      'password-protected': false,
      files: [storedFile.file],
    } satisfies BackupManifest;
    writeFileSync(join(place, `${NAME}.json`), JSON.stringify(manifest));
    // Of two further files, one is encrypted and the other is missing.
    const secret = await stored({ passphrase: PASSPHRASE });
    for (const [year, file] of [
      ['2016', secret.file],
      ['2017', storedFile.file],
    ] as const) {
      const backup = NAME.replace('2020', year);
      const files = [{ ...file, file: `${backup}.xml` }];
      writeFileSync(join(place, `${backup}.json`), JSON.stringify({ ...manifest, backup, files, time: time.replace('2020', year) }));
    }
    writeFileSync(join(place, `${NAME.replace('2020', '2016')}.xml`), readFileSync(secret.path));
    const orphan = NAME.replace('2020', '2019');
    writeFileSync(join(place, `${orphan}.xml`), CONTENT);
    const damaged = NAME.replace('2020', '2018');
    writeFileSync(join(place, `${damaged}.json`), '{');
    const verify = (more: object = {}) => verifyBackups({ folder: place, ...more }, call());
    const { total, ok, failed, results } = await verify();
    expect([total, ok, failed]).toEqual([5, 2, 3]);
    expect(results).toMatchObject([
      { ok: true, item: { backup: NAME, time, checked: 'content', authentic: false } },
      {
        ok: false,
        item: { backup: NAME.replace('2020', '2017'), time: time.replace('2020', '2017') },
        error: { message: expect.stringContaining('.xml cannot be read') as string },
      },
      { ok: true, item: { checked: 'hash', authentic: false } },
      { ok: false, item: { backup: damaged }, error: { code: 'BAD_INPUT' } },
      {
        ok: false,
        item: { backup: orphan },
        error: { message: `${join(place, orphan)}.json is missing, so its files cannot be checked.` },
      },
    ]);
    expect(listOpenFiles().filter((file) => file.startsWith(place))).toEqual([]);
    expect(await verify({ backup: NAME })).toMatchObject({ total: 1, ok: 1 });
    expect((await expectFailure(verifyBackups({ folder: place }, call(AbortSignal.abort())))).code).toBe('ABORTED');
    const plain = await expectFailure(verify({ backup: NAME, passphrase: PASSPHRASE }));
    expect(plain.message).toContain('was made without a passphrase');
    rmSync(storedFile.path);
    expect((await expectFailure(verify({ backup: NAME }))).message).toContain(`${NAME}.xml cannot be read`);
  });
});
