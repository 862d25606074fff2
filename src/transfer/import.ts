import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { WriteResult } from '../model/envelope';
import { badInput, GatewayError } from '../model/error';
import { trusted, safeMessage } from '../model/safe-message';
import type { OperationContext } from '../model/operation';
import { CheckedUploadStream } from './checked-upload-stream';
import { FileUploadStream, createFileReadError } from './file-upload-stream';
import { toFileError } from '../files/file-error';
import { createProgressReporter } from './batching-sink';
import { BINARY_CONFIGURATION_PATH, MAINTENANCE_PATH } from './constants';
import type { Upload } from '../model/stream';
import type { JsonObject } from '../model/json';

const PROGRESS_INTERVAL_MS = 250;
const READ_BYTES = 512 * 1024;
/** The interface expects this type for base64 text (appliance-api.md, "Binary-configuration rules"). */
const BASE64_TYPE = 'text/html; charset=utf-8';

/** A configuration to send; each attempt opens it again. */
export interface ConfigurationSource {
  /** Text for a plan. */
  readonly description: string;
  /** With a hash, only the identical content is sent completely. */
  open(sha256?: string): Promise<OpenedImportSource>;
  /** SHA-256 of the content in hexadecimal digits. */
  digest(): Promise<string>;
  /** Opens the source. Rejects before anything is sent, including a login. */
  check?(): Promise<void>;
}

interface OpenedImportSource {
  readonly content: Readable | Buffer;
  /** Length in bytes. */
  readonly length: number;
  /** Bytes read so far. Only streams report it. */
  readonly bytesRead?: () => number;
}

/** Creates a source from a value or a file. Errors: `BAD_INPUT` unless exactly one of them is set, or when the file cannot be read. */
export function createConfigurationSource(name: string, value: Buffer | string | undefined, file: string | undefined): ConfigurationSource {
  if ((value === undefined) === (file === undefined))
    throw badInput(safeMessage`${trusted(name)} or file is required, and only one of them.`);
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

/** Imports to one appliance run one at a time. Callers of `sendXmlImport` and `sendBinaryImport` must hold that turn already. */
export function importXml(source: ConfigurationSource, password: string | undefined, call: OperationContext): Promise<WriteResult> {
  return runWhenReady(source, call, () => sendXmlImport(source, password, call));
}

interface BinaryImportOptions {
  readonly mode?: 'normal' | 'full' | undefined;
  /** The password of the export. Only some releases read it (field-notes.md, "Binary configuration"). */
  readonly password?: string | undefined;
}

export function importBinary(source: ConfigurationSource, options: BinaryImportOptions, call: OperationContext): Promise<WriteResult> {
  return runWhenReady(source, call, () => sendBinaryImport(source, options, call));
}

async function runWhenReady(source: ConfigurationSource, call: OperationContext, work: () => Promise<WriteResult>): Promise<WriteResult> {
  await source.check?.();
  return runExclusiveImport(call, work);
}

/** Sends a multipart form that always has both parts, `file` and `password` (appliance-api.md, "System"). Data: the result. */
export function sendXmlImport(source: ConfigurationSource, password = '', call: OperationContext): Promise<WriteResult> {
  const plannedBody = { file: source.description, password };
  return send({ method: 'POST', path: `${MAINTENANCE_PATH}/import-xml` }, source, plannedBody, call, async (content, length) => {
    const { default: FormData } = await import('form-data');
    const form = new FormData();
    form.append('file', content, { filename: 'configuration.xml', contentType: 'text/xml', knownLength: length });
    form.append('password', password);
    return { body: form, headers: { ...form.getHeaders(), 'content-length': String(form.getLengthSync()) } };
  });
}

/** Sends the base64 text unchanged (appliance-api.md, "Binary-configuration rules"). Data: the result. */
export function sendBinaryImport(
  source: ConfigurationSource,
  { mode, password }: BinaryImportOptions,
  call: OperationContext,
): Promise<WriteResult> {
  const query = { ...(mode && { import: mode }), ...(password !== undefined && { password }) };
  const request = { method: 'PUT', path: BINARY_CONFIGURATION_PATH, ...(Object.keys(query).length > 0 && { query }) } as const;
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

/** Reports the progress of a stream until it closes. */
function reportUntilClosed({ content, length, bytesRead }: OpenedImportSource, call: OperationContext): () => void {
  const report = createProgressReporter(call);
  const timer = bytesRead && setInterval(() => report(bytesRead(), length), PROGRESS_INTERVAL_MS).unref();
  return () => {
    clearInterval(timer);
    // form-data does not close the file after an aborted exchange.
    if (!Buffer.isBuffer(content)) content.destroy();
  };
}

async function openFile(file: string, sha256?: string): Promise<OpenedImportSource> {
  const { handle, size } = await openForReading(file);
  if (sha256 !== undefined) {
    const createChangedError = (): GatewayError =>
      new GatewayError('CONFLICT', safeMessage`${file} changed while it was sent, so the upload was cut off before its end.`, {
        sent: true,
      });
    const content = new CheckedUploadStream({ bytes: size, sha256, createChangedError });
    // A separate stream: the hash holds pieces longer than `FileUploadStream` allows.
    const source = handle.createReadStream({ highWaterMark: READ_BYTES });
    source.once('error', (error) => content.destroy(createFileReadError(error)));
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
    // Opening a named pipe without a writer would block.
    handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stat = await handle.stat();
    if (!stat.isFile() || stat.size === 0) throw badInput(safeMessage`${file} cannot be sent: it is empty or not a regular file.`);
    return { handle, size: stat.size };
  } catch (error) {
    await handle?.close();
    throw toFileError(error, file, 'read');
  }
}

/**
 * Runs one import at a time per appliance. The appliance would queue them itself (appliance-api.md, "Limits" 3), but a wait here is visible
 * and can be canceled before sending. Errors: `ABORTED`.
 */
export function runExclusiveImport<T>(call: OperationContext, work: () => Promise<T>): Promise<T> {
  let hasWaited = false;
  const start = (): Promise<T> => {
    if (hasWaited) call.reportProgress({ state: 'transferring', bytes: 0 });
    return work();
  };
  return call.runExclusive('import', start, {
    abortMessage: 'Canceled while waiting for another import to end. Nothing was sent.',
    onWait: () => {
      hasWaited = true;
      call.reportProgress({ state: 'waiting' });
    },
  });
}
