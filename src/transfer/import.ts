import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { WriteResult } from '../model/envelope';
import { badInput, GatewayError } from '../model/error';
import { ours, sentence } from '../model/sentence';
import type { Call } from '../model/operation';
import { CheckedContent } from './checked-content';
import { FileContent, unreadable } from './file-content';
import { fileFault } from './file-fault';
import { meter } from './meter';
import { BINARY, MAINTENANCE } from './names';
import type { Upload } from '../model/stream';
import { exclusiveImport } from './exclusive-import';
import type { JsonObject } from '../model/json';

const WATCH_MS = 250;
const READ_BYTES = 512 * 1024;
/** What the interface wants for the base64 text, odd as it is. */
const BASE64_TYPE = 'text/html; charset=utf-8';

/** A configuration that will be sent: opened anew for every try. */
export interface Source {
  /** For a plan. */
  readonly shown: string;
  /** With the hash of what was looked at before, nothing else is sent whole. */
  open(sha256?: string): Promise<Opened>;
  /** SHA-256 of the content, in hexadecimal digits. */
  digest(): Promise<string>;
  /** Fails before anything is sent, a login included. */
  check?(): Promise<void>;
}

export interface Opened {
  readonly content: Readable | Buffer;
  /** Bytes. */
  readonly length: number;
  /** How many of them were read by now; only streams tell. */
  readonly read?: () => number;
}

/** From the subject or from a file. Errors: `BAD_INPUT` when both or none are given, or the file cannot be read. */
export function sourceOf(name: string, value: Buffer | string | undefined, file: string | undefined): Source {
  if ((value === undefined) === (file === undefined))
    throw badInput(sentence`${ours(name)} or file has to be given, and only one of them.`);
  if (file !== undefined) {
    const check = async (): Promise<void> => (await handleOf(file)).handle.close();
    return { shown: file, open: (sha256) => openFile(file, sha256), digest: () => digestOf(file), check };
  }
  const content = typeof value === 'string' ? Buffer.from(value, 'utf8') : (value as Buffer);
  if (content.length === 0) throw badInput(sentence`${ours(name)} is empty.`);
  return {
    shown: `${content.length} bytes`,
    open: () => Promise.resolve({ content, length: content.length }),
    digest: () => Promise.resolve(createHash('sha256').update(content).digest('hex')),
  };
}

/** Imports to one appliance wait for each other, `sendXml` and `sendBinary` do not: whoever calls those has the turn. */
export function importXml(source: Source, password: string | undefined, call: Call): Promise<WriteResult> {
  return whenReady(source, call, () => sendXml(source, password, call));
}

export function importBinary(source: Source, mode: 'normal' | 'full' | undefined, call: Call): Promise<WriteResult> {
  return whenReady(source, call, () => sendBinary(source, mode, call));
}

async function whenReady(source: Source, call: Call, work: () => Promise<WriteResult>): Promise<WriteResult> {
  await source.check?.();
  return exclusiveImport(call, work);
}

/** Multipart form with both parts, `file` and `password`, always (appliance-api.md, "System"). Data: the result. */
export function sendXml(source: Source, password = '', call: Call): Promise<WriteResult> {
  const shown = { file: source.shown, password };
  return send({ method: 'POST', path: `${MAINTENANCE}/import-xml` }, source, shown, call, async (content, length) => {
    const { default: FormData } = await import('form-data');
    const form = new FormData();
    form.append('file', content, { filename: 'configuration.xml', contentType: 'text/xml', knownLength: length });
    form.append('password', password);
    return { body: form, headers: { ...form.getHeaders(), 'content-length': String(form.getLengthSync()) } };
  });
}

/** The base64 text as it is (appliance-api.md, "Binary-configuration rules"). Data: the result. */
export function sendBinary(source: Source, mode: 'normal' | 'full' | undefined, call: Call): Promise<WriteResult> {
  const request = { method: 'PUT', path: BINARY, ...(mode && { query: { import: mode } }) } as const;
  return send(request, source, { data: source.shown }, call, (body, length) => ({
    body,
    headers: { 'content-type': BASE64_TYPE, 'content-length': String(length) },
  }));
}

type Wrapped = Pick<Upload, 'body' | 'headers'>;
type Wrap = (content: Readable | Buffer, length: number) => Wrapped | Promise<Wrapped>;

function send(request: Parameters<Call['upload']>[0], source: Source, shown: JsonObject, call: Call, wrap: Wrap): Promise<WriteResult> {
  let known: string | undefined;
  const open = async (): Promise<Upload> => {
    const opened = await source.open(known);
    return { ...(await wrap(opened.content, opened.length)), close: watch(opened, call) };
  };
  return call.upload(request, shown, open, async () => (known = await source.digest()));
}

/** Reports how much of a stream was read, until it is closed. */
function watch({ content, length, read }: Opened, call: Call): () => void {
  const report = meter(call);
  const timer = read && setInterval(() => report(read(), length), WATCH_MS).unref();
  return () => {
    clearInterval(timer);
    // form-data leaves the file open when the exchange was cut off.
    if (!Buffer.isBuffer(content)) content.destroy();
  };
}

async function openFile(file: string, sha256?: string): Promise<Opened> {
  const { handle, size } = await handleOf(file);
  if (sha256 !== undefined) {
    const changed = (): GatewayError =>
      new GatewayError('CONFLICT', sentence`${file} was changed while it was sent, so it was cut off before its end.`, { sent: true });
    const content = new CheckedContent({ bytes: size, sha256, changed });
    // Not the pieces that are read into over and over: what checks holds some of them for longer.
    const source = handle.createReadStream({ highWaterMark: READ_BYTES });
    source.once('error', (error) => content.destroy(unreadable(error)));
    content.once('close', () => source.destroy());
    return { content: source.pipe(content), length: size, read: () => content.bytesRead };
  }
  const content = new FileContent(handle, size);
  return { content, length: size, read: () => content.bytesRead };
}

async function digestOf(file: string): Promise<string> {
  const { handle } = await handleOf(file);
  const hash = createHash('sha256');
  try {
    for await (const chunk of handle.createReadStream({ highWaterMark: READ_BYTES })) hash.update(chunk as Buffer);
  } catch (error) {
    throw fileFault(error, file, 'read');
  }
  return hash.digest('hex');
}

async function handleOf(file: string): Promise<{ handle: FileHandle; size: number }> {
  let handle: FileHandle | undefined;
  try {
    // A pipe that nobody writes into would be waited for.
    handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stat = await handle.stat();
    if (!stat.isFile() || stat.size === 0) throw badInput(sentence`${file} cannot be sent: it is empty, or no ordinary file.`);
    return { handle, size: stat.size };
  } catch (error) {
    await handle?.close();
    throw fileFault(error, file, 'read');
  }
}
