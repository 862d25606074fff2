import { createHash } from 'node:crypto';
import { truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it, vi } from 'vitest';
import { GatewayError } from '../../../src/model/error';
import type { Progress } from '../../../src/model/operation';
import { BatchingSink } from '../../../src/transfer/batching-sink';
import { CheckedUploadStream } from '../../../src/transfer/checked-upload-stream';
import { createContentCheck } from '../../../src/transfer/content-check';
import { FileUploadStream } from '../../../src/transfer/file-upload-stream';
import { createConfigurationSource } from '../../../src/transfer/import';
import { createProgressReporter } from '../../../src/transfer/batching-sink';
import { MemoryOutput } from '../../../src/transfer/outputs';
import { ConfigurationReceiver } from '../../../src/transfer/configuration-receiver';
import { expectFailure, getThrownError } from '../../helpers/simulated-appliance';
import { createRunContext } from '../../helpers/call';
import { withPatchedFileHandles } from '../../helpers/journal';
import { listOpenFiles } from '../../helpers/open-files';
import { createTemporaryFolder } from '../../helpers/temporary';

// Tests batches and upload streams without an appliance.

const BATCH = 256 * 1024;
const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');
const fault = (code: string): Error => Object.assign(new Error('broken'), { code });

it('createProgressReporter reports four times per second', () => {
  const told: Progress[] = [];
  const report = createProgressReporter(createRunContext({ url: 'https://127.0.0.1:1' }, { onProgress: (advance) => told.push(advance) }));
  const clock = vi.spyOn(performance, 'now');
  for (const [now, bytes, total] of [
    [5, 1, undefined],
    [254, 2, undefined],
    [255, 3, 9],
    [256, 4, 9],
    [504, 5, 9],
    [505, 6, 9],
  ] as const) {
    clock.mockReturnValue(now);
    report(bytes, total);
  }
  clock.mockRestore();
  expect(told).toStrictEqual([
    { state: 'transferring', bytes: 1 },
    { state: 'transferring', bytes: 3, total: 9 },
    { state: 'transferring', bytes: 6, total: 9 },
  ]);
});

describe('ConfigurationReceiver and BatchingSink', () => {
  /** A consumer that works on demand. */
  function held(): {
    consumed: Buffer[];
    places: Set<ArrayBufferLike>;
    next: () => Promise<void>;
    consumer: { consume(batch: Buffer): Promise<void> };
  } {
    const consumed: Buffer[] = [];
    const places = new Set<ArrayBufferLike>();
    const waiting: (() => void)[] = [];
    const settle = (): Promise<void> => new Promise(setImmediate);
    return {
      consumed,
      places,
      next: async () => {
        waiting.shift()?.();
        await settle();
      },
      consumer: {
        consume: async (batch) => {
          consumed.push(Buffer.from(batch));
          places.add(batch.buffer);
          await new Promise<void>((resolve) => waiting.push(resolve));
        },
      },
    };
  }

  it('ConfigurationReceiver and BatchingSink pause at four waiting batches, keep the order and reuse their memory', async () => {
    const { consumed, places, next, consumer } = held();
    const told: unknown[] = [];
    const flow: string[] = [];
    const sink = new BatchingSink(
      consumer,
      () => new GatewayError('LIMIT', 'No.'),
      (...values) => told.push(values),
    );
    sink.start(9 * BATCH + 5, { pause: () => flow.push('pause'), resume: () => flow.push('resume'), fail: () => flow.push('fail') }, false);
    const bytes = Buffer.alloc(9 * BATCH + 5, 'ab0123456789');
    sink.write(bytes.subarray(0, 4 * BATCH - 1));
    expect(flow).toEqual([]);
    sink.write(bytes.subarray(4 * BATCH - 1, 5 * BATCH + 7));
    expect(flow).toEqual(['pause']);
    await next();
    await next();
    expect(flow).toEqual(['pause']);
    await next();
    expect([flow, told]).toEqual([['pause', 'resume'], [1, 2].map((count) => [count * BATCH, 9 * BATCH + 5])]);
    for (let at = 5 * BATCH + 7; at < bytes.length; at += BATCH) {
      sink.write(bytes.subarray(at, at + BATCH));
      await next();
    }
    const finished = sink.finish();
    for (let count = 0; count < 9; count++) await next();
    expect([await finished, Buffer.concat(consumed).equals(bytes)]).toEqual([bytes.length, true]);
    expect(consumed.map(({ length }) => length)).toEqual([...Array<number>(9).fill(BATCH), 5]);
    expect(places.size).toBeLessThan(7);
    expect(flow.length % 2).toBe(0);
  });

  it('ConfigurationReceiver and BatchingSink stop at the first fault and pass nothing on after it', async () => {
    const consumed: number[] = [];
    const failed: string[] = [];
    const consume = (batch: Buffer): Promise<void> => {
      consumed.push(batch.length);
      return consumed.length === 2 ? Promise.reject(new Error('full')) : Promise.resolve();
    };
    const sink = new BatchingSink(
      { consume },
      (thrown) => new GatewayError('LIMIT', (thrown as Error).message),
      () => undefined,
    );
    sink.start(undefined, { pause: () => undefined, resume: () => undefined, fail: ({ message }) => failed.push(message) }, false);
    sink.write(Buffer.alloc(3 * BATCH + 1));
    expect(await expectFailure(sink.finish())).toMatchObject({ code: 'LIMIT', message: 'full' });
    expect([consumed, failed]).toEqual([[BATCH, BATCH], ['full']]);
  });

  it('a canceled ConfigurationReceiver stops after the current batch', async () => {
    const { consumed, next, consumer } = held();
    const sink = new BatchingSink(
      consumer,
      () => new GatewayError('LIMIT', 'No.'),
      () => undefined,
    );
    sink.write(Buffer.alloc(2 * BATCH));
    await new Promise(setImmediate);
    let stopped = false;
    const stopping = sink.stop().then(() => (stopped = true));
    await new Promise(setImmediate);
    expect(stopped).toBe(false);
    await next();
    await stopping;
    expect(consumed).toHaveLength(1);
  });

  it('ConfigurationReceiver checks, hashes and stores the content', async () => {
    const receive = async (text: string, { check = true, hash = true } = {}) => {
      const output = new MemoryOutput();
      const receiver = new ConfigurationReceiver({
        accept: 'x/y',
        output,
        createCheck: () => createContentCheck('xml'),
        shouldCheck: check,
        shouldHash: hash,
        onBytes: () => undefined,
      });
      receiver.sink.write(Buffer.from(text));
      return { result: await receiver.finish(), receiver, output };
    };
    const xml = '<configuration/>';
    const { result, receiver, output } = await receive(xml);
    expect(result).toEqual({ bytes: 16, sha256: sha256(xml), checkResult: { verified: 'xml' }, stored: Buffer.from(xml) });
    expect(receiver.accept).toBe('x/y');
    await receiver.discard();
    expect(await output.end()).toHaveLength(0);
    expect((await receive(xml, { hash: false })).result.sha256).toBeNull();
    expect((await receive('<', { check: false })).result).toMatchObject({ checkResult: undefined, bytes: 1 });
    const whole = 'The appliance did not send a complete configuration:';
    for (const [text, why] of [
      ['', 'it is empty'],
      ['<configuration>', 'it ends early'],
      ['<a/>', 'its root element is a, not configuration'],
    ] as const) {
      const error = await expectFailure(receive(text));
      expect([error.code, error.message, error.details.sent]).toEqual(['BAD_RESPONSE', `${whole} ${why}. Nothing was stored.`, true]);
    }
  });

  it('ConfigurationReceiver and BatchingSink report the failure of the output', async () => {
    const full = new GatewayError('LIMIT', 'No room.');
    const discarded = vi.fn(() => Promise.resolve());
    const output = { write: () => Promise.reject(full), end: () => Promise.reject(full), discard: discarded };
    const receiver = new ConfigurationReceiver({
      accept: '',
      output,
      createCheck: () => createContentCheck('xml'),
      shouldCheck: false,
      shouldHash: false,
      onBytes: () => undefined,
    });
    receiver.sink.write(Buffer.from('x'));
    expect(await expectFailure(receiver.finish())).toBe(full);
    await receiver.discard();
    expect(discarded).toHaveBeenCalledTimes(1);
  });

  it('ConfigurationReceiver and BatchingSink keep up to 256 MiB of content for a message', async () => {
    const output = new MemoryOutput();
    const batch = Buffer.from('abc');
    await output.write(batch);
    batch.fill('d');
    await output.write(batch);
    expect((await output.end()).toString()).toBe('abcddd');
    // Untouched memory costs nothing.
    const error = await expectFailure(output.write(Buffer.allocUnsafeSlow(256 * 1024 * 1024 - 5)));
    expect([error.code, error.message, error.details.sent]).toEqual([
      'LIMIT',
      'The configuration is larger than 256 MiB. Export it to a file.',
      true,
    ]);
  });
});

describe('upload streams', () => {
  it('upload streams send a file of any length and close it', async () => {
    const path = join(createTemporaryFolder(), 'x');
    for (const size of [1, 512 * 1024, 512 * 1024 + 1, 3 * 1024 * 1024]) {
      const places = new Set<ArrayBufferLike>();
      const bytes = Buffer.alloc(size, '0123456789a');
      writeFileSync(path, bytes);
      const content = new FileUploadStream(await open(path), size);
      expect(content.bytesRead).toBe(0);
      const hash = createHash('sha256');
      // The pieces are reused, so each is valid only briefly.
      for await (const piece of content as AsyncIterable<Buffer>) {
        hash.update(piece);
        places.add(piece.buffer);
      }
      expect([content.bytesRead, hash.digest('hex'), places.size]).toEqual([
        size,
        sha256(bytes),
        Math.min(4, Math.ceil(size / (512 * 1024))),
      ]);
    }
    expect(listOpenFiles()).toEqual([]);
  });

  it('upload streams fail when the file has become shorter or cannot be read or closed', async () => {
    const path = join(createTemporaryFolder(), 'x');
    writeFileSync(path, 'abcdef');
    const content = new FileUploadStream(await open(path), 6);
    truncateSync(path, 3);
    const error = await expectFailure(buffer(content));
    const words = 'The file could not be read completely, so the rest was not sent:';
    expect([error.code, error.message, error.details.sent]).toEqual([
      'ABORTED',
      `${words} The file became shorter while it was sent.`,
      true,
    ]);
    const other = new FileUploadStream(await open(path), 3);
    await withPatchedFileHandles({ read: () => Promise.reject(new Error('broken disk')) }, async () => {
      expect((await expectFailure(buffer(other))).message).toBe(`${words} broken disk`);
    });
    const handle = await open(path);
    const close = handle.close.bind(handle);
    handle.close = () => close().then(() => Promise.reject(new Error('not closed')));
    await expect(buffer(new FileUploadStream(handle, 3))).rejects.toThrow('not closed');
    expect(listOpenFiles()).toEqual([]);
  });

  it('upload streams end early if checked content has changed', async () => {
    const send = async (given: string, pieces: readonly string[], isWhole?: () => boolean): Promise<string> => {
      const changed = (): GatewayError => new GatewayError('CONFLICT', 'Changed.');
      const content = new CheckedUploadStream({
        bytes: given.length,
        sha256: sha256(given),
        createChangedError: changed,
        ...(isWhole && { isComplete: isWhole }),
      });
      let out = '';
      content.on('data', (piece: Buffer) => (out += piece.toString()));
      const over = new Promise<string>((resolve) =>
        content.on('end', () => resolve('whole')).on('error', (error) => resolve(error.message)),
      );
      for (const piece of pieces) content.write(Buffer.from(piece));
      content.end();
      return `${await over}: ${out}, ${content.bytesRead}`;
    };
    expect(await send('abcdef', ['abc', 'def'])).toBe('whole: abcdef, 6');
    expect(await send('abcdef', ['abcdef'], () => true)).toBe('whole: abcdef, 6');
    expect(await send('abcdef', ['abc', 'def', ''])).toBe('whole: abcdef, 6');
    expect(await send('abcdef', ['abc', 'def'], () => false)).toBe('Changed.: abc, 6');
    expect(await send('abcdef', ['abx', 'def'])).toBe('Changed.: abx, 6');
    expect(await send('abcdef', ['abc', 'de'])).toBe('Changed.: abcde, 5');
    expect(await send('abcdef', ['abc', 'defg'])).toBe('Changed.: abc, 7');
    expect(await send('', [])).toBe('Changed.: , 0');
  });

  it('an upload stream needs either a value or a file, not both', async () => {
    const file = join(createTemporaryFolder(), 'x');
    writeFileSync(file, 'from the file');
    const given = createConfigurationSource('xml', 'grün', undefined);
    expect([given.description, await given.digest(), await given.open()]).toEqual([
      '5 bytes',
      sha256('grün'),
      { content: Buffer.from('grün'), length: 5 },
    ]);
    const read = createConfigurationSource('xml', undefined, file);
    expect([read.description, await read.digest(), await read.check?.()]).toEqual([file, sha256('from the file'), undefined]);
    for (const known of [undefined, sha256('from the file')]) {
      const { content, length, bytesRead: bytes } = await read.open(known);
      expect([bytes?.(), (await buffer(content as NodeJS.ReadableStream)).toString(), length, bytes?.()]).toEqual([
        0,
        'from the file',
        13,
        13,
      ]);
    }
    const changed = await expectFailure(read.open(sha256('another')).then(({ content }) => buffer(content as NodeJS.ReadableStream)));
    expect([changed.code, changed.message, changed.details.sent]).toEqual([
      'CONFLICT',
      `${file} changed while it was sent, so the upload was cut off before its end.`,
      true,
    ]);
    expect(getThrownError(() => createConfigurationSource('data', undefined, undefined))?.message).toBe(
      'data or file is required, and only one of them.',
    );
    expect(getThrownError(() => createConfigurationSource('data', 'x', file))?.message).toBe(
      'data or file is required, and only one of them.',
    );
    expect(getThrownError(() => createConfigurationSource('data', '', undefined))?.message).toBe('data is empty.');
    await withPatchedFileHandles({ read: () => Promise.reject(fault('EIO')) }, async () => {
      expect((await expectFailure(read.digest())).message).toBe(`${file} cannot be read: the disk does not answer (EIO).`);
      const { content } = await read.open(sha256('from the file'));
      expect((await expectFailure(buffer(content as NodeJS.ReadableStream))).message).toContain('so the rest was not sent: broken');
    });
    for (const odd of [join(file, '..'), join(file, '../none')])
      expect((await expectFailure(createConfigurationSource('xml', undefined, odd).open())).code).toBe('BAD_INPUT');
    writeFileSync(file, '');
    expect((await expectFailure(read.open())).message).toBe(`${file} cannot be sent: it is empty or not a regular file.`);
    expect(listOpenFiles()).toEqual([]);
  });
});
