import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { WriteResult } from '../model/envelope';
import { badInput, GatewayError } from '../model/error';
import { trusted, safeMessage } from '../model/safe-message';
import type { OperationContext } from '../model/operation';
import { CheckedUploadStream } from './checked-upload-stream';
import { FileUploadStream, fileReadError } from './file-upload-stream';
import { toFileError } from '../files/file-error';
import { createProgressReporter } from './progress-reporter';
import { BINARY_CONFIGURATION_PATH, MAINTENANCE_PATH } from './constants';
import type { Upload } from '../model/stream';
import { runExclusiveImport } from './exclusive-import';
import type { JsonObject } from '../model/json';

const PROGRESS_INTERVAL_MS = 250;
const READ_BYTES = 512 * 1024;
/** What the interface wants for the base64 text, odd as it is. */
const BASE64_TYPE = 'text/html; charset=utf-8';

/** A configuration that will be sent: opened anew for every try. */
export interface ConfigurationSource {
  /** For a plan. */
  readonly description: string;
  /** With the hash of what was looked at before, nothing else is sent whole. */
  open(sha256?: string): Promise<OpenedSource>;
  /** SHA-256 of the content, in hexadecimal digits. */
  digest(): Promise<string>;
  /** Fails before anything is sent, a login included. */
  check?(): Promise<void>;
}

export interface OpenedSource {
  readonly content: Readable | Buffer;
  /** Bytes. */
  readonly length: number;
  /** How many of them were read by now; only streams tell. */
  readonly bytesRead?: () => number;
}

/** From the subject or from a file. Errors: `BAD_INPUT` when both or none are given, or the file cannot be read. */
export function createConfigurationSource(name: string, value: Buffer | string | undefined, file: string | undefined): ConfigurationSource {
  if ((value === undefined) === (file === undefined))
    throw badInput(safeMessage`${trusted(name)} or file has to be given, and only one of them.`);
  if (file !== undefined) {
    const check = async (): Promise<void> => (await openForReading(file)).handle.close();
    return { description: file, open: (sha256) => openFile(file, sha256), digest: () => hashFile(file), check };
  }
  const content = typeof value === 'string' ? Buffer.from(value, 'utf8') : (value as Buffer);
  if (content.length === 0) throw badInput(safeMessage`${trusted(name)} is empty.`);
  return {
    description: `${content.length} bytes`,
    open: () => Promise.resolve({ content, length: content.length }),
    digest: () => Promise.resolve(createHash('sha256').update(content).digest('hex')),
  };
}

/** Imports to one appliance wait for each other, `sendXml` and `sendBinary` do not: whoever calls those has the turn. */
export function importXml(source: ConfigurationSource, password: string | undefined, call: OperationContext): Promise<WriteResult> {
  return runWhenReady(source, call, () => sendXml(source, password, call));
}

export function importBinary(
  source: ConfigurationSource,
  mode: 'normal' | 'full' | undefined,
  call: OperationContext,
): Promise<WriteResult> {
  return runWhenReady(source, call, () => sendBinary(source, mode, call));
}

async function runWhenReady(source: ConfigurationSource, call: OperationContext, work: () => Promise<WriteResult>): Promise<WriteResult> {
  await source.check?.();
  return runExclusiveImport(call, work);
}

/** Multipart form with both parts, `file` and `password`, always (appliance-api.md, "System"). Data: the result. */
export function sendXml(source: ConfigurationSource, password = '', call: OperationContext): Promise<WriteResult> {
  const plannedBody = { file: source.description, password };
  return send({ method: 'POST', path: `${MAINTENANCE_PATH}/import-xml` }, source, plannedBody, call, async (content, length) => {
    const { default: FormData } = await import('form-data');
    const form = new FormData();
    form.append('file', content, { filename: 'configuration.xml', contentType: 'text/xml', knownLength: length });
    form.append('password', password);
    return { body: form, headers: { ...form.getHeaders(), 'content-length': String(form.getLengthSync()) } };
  });
}

/** The base64 text as it is (appliance-api.md, "Binary-configuration rules"). Data: the result. */
export function sendBinary(source: ConfigurationSource, mode: 'normal' | 'full' | undefined, call: OperationContext): Promise<WriteResult> {
  const request = { method: 'PUT', path: BINARY_CONFIGURATION_PATH, ...(mode && { query: { import: mode } }) } as const;
  return send(request, source, { data: source.description }, call, (body, length) => ({
    body,
    headers: { 'content-type': BASE64_TYPE, 'content-length': String(length) },
  }));
}

type UploadBody = Pick<Upload, 'body' | 'headers'>;
type CreateUploadBody = (content: Readable | Buffer, length: number) => UploadBody | Promise<UploadBody>;

function send(
  request: Parameters<OperationContext['upload']>[0],
  source: ConfigurationSource,
  plannedBody: JsonObject,
  call: OperationContext,
  createBody: CreateUploadBody,
): Promise<WriteResult> {
  let knownSha256: string | undefined;
  const open = async (): Promise<Upload> => {
    const opened = await source.open(knownSha256);
    return { ...(await createBody(opened.content, opened.length)), close: reportUntilClosed(opened, call) };
  };
  return call.upload(request, plannedBody, open, async () => (knownSha256 = await source.digest()));
}

/** Reports how much of a stream was read, until it is closed. */
function reportUntilClosed({ content, length, bytesRead }: OpenedSource, call: OperationContext): () => void {
  const report = createProgressReporter(call);
  const timer = bytesRead && setInterval(() => report(bytesRead(), length), PROGRESS_INTERVAL_MS).unref();
  return () => {
    clearInterval(timer);
    // form-data leaves the file open when the exchange was cut off.
    if (!Buffer.isBuffer(content)) content.destroy();
  };
}

async function openFile(file: string, sha256?: string): Promise<OpenedSource> {
  const { handle, size } = await openForReading(file);
  if (sha256 !== undefined) {
    const createChangedError = (): GatewayError =>
      new GatewayError('CONFLICT', safeMessage`${file} was changed while it was sent, so it was cut off before its end.`, { sent: true });
    const content = new CheckedUploadStream({ bytes: size, sha256, createChangedError });
    // Not the pieces that are read into over and over: what checks holds some of them for longer.
    const source = handle.createReadStream({ highWaterMark: READ_BYTES });
    source.once('error', (error) => content.destroy(fileReadError(error)));
    content.once('close', () => source.destroy());
    return { content: source.pipe(content), length: size, bytesRead: () => content.bytesRead };
  }
  const content = new FileUploadStream(handle, size);
  return { content, length: size, bytesRead: () => content.bytesRead };
}

async function hashFile(file: string): Promise<string> {
  const { handle } = await openForReading(file);
  const hash = createHash('sha256');
  try {
    for await (const chunk of handle.createReadStream({ highWaterMark: READ_BYTES })) hash.update(chunk as Buffer);
  } catch (error) {
    throw toFileError(error, file, 'read');
  }
  return hash.digest('hex');
}

async function openForReading(file: string): Promise<{ handle: FileHandle; size: number }> {
  let handle: FileHandle | undefined;
  try {
    // A pipe that nobody writes into would be waited for.
    handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stat = await handle.stat();
    if (!stat.isFile() || stat.size === 0) throw badInput(safeMessage`${file} cannot be sent: it is empty, or no ordinary file.`);
    return { handle, size: stat.size };
  } catch (error) {
    await handle?.close();
    throw toFileError(error, file, 'read');
  }
}
