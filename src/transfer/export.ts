import { resolve } from 'node:path';
import { asGatewayError, GatewayError } from '../model/error';
import type { OperationContext } from '../model/operation';
import { createContentCheck, type ConfigurationKind } from './content-check';
import { createProgressReporter } from './batching-sink';
import type { VERIFICATION_LEVELS } from './constants';
import { FileOutput, MemoryOutput } from './outputs';
import { ConfigurationReceiver, type ConfigurationDestination, type ReceivedConfiguration } from './configuration-receiver';
import type { Request } from '../model/request';
import { trusted, safeMessage } from '../model/safe-message';
import type { Download } from '../model/stream';

export interface ExportInput {
  readonly password?: string;
  readonly file?: string;
  readonly check?: (typeof VERIFICATION_LEVELS)[number];
}

/** Data of an export to a file. `sha256` is null when hashing was off. */
export interface ExportedFile {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string | null;
}

/** Preferred content type of each kind. Any type is accepted when the content passes its check. */
export const EXPORT_ACCEPT_HEADERS: Readonly<Record<ConfigurationKind, string>> = {
  xml: 'application/xml, text/xml, */*;q=0.5',
  binary: 'text/html, */*;q=0.5',
};

/**
 * Exports to the message or to a file. `envelope.verified` is `xml`, `zip`, `base64` or `none`. Errors: `BAD_RESPONSE` for incomplete or
 * malformed content; `BAD_INPUT` and `LIMIT` for a file that cannot be written. A failed export changes no file.
 */
export async function exportConfiguration(
  kind: ConfigurationKind,
  request: Request,
  input: ExportInput,
  call: OperationContext,
): Promise<Buffer | ExportedFile> {
  const { file } = input;
  if (file === undefined) {
    const { stored } = await receiveConfiguration(kind, request, input, call, () => Promise.resolve(new MemoryOutput()));
    return stored;
  }
  const durable = input.check !== 'none';
  const { bytes, sha256 } = await receiveConfiguration(kind, request, input, call, () => FileOutput.create(file, durable));
  return { file: resolve(file), bytes, sha256 };
}

/**
 * Streams one export into the download that `createDownload` returns. Releases without POST get a GET (field-notes.md, "Binary
 * configuration"). Errors: those of the exchange.
 */
export async function downloadConfiguration<T>(
  kind: ConfigurationKind,
  request: Request,
  call: OperationContext,
  createDownload: () => Promise<Download<T>>,
): Promise<T> {
  try {
    return await call.download(request, createDownload);
  } catch (thrown) {
    const error = asGatewayError(thrown);
    if (!isUnknownEndpoint(error)) throw error;
    if (kind === 'xml') throw error.requestCode === 'NOT_FOUND' ? withAdvice(error, NO_XML_ADVICE) : error;
    // A GET could carry the password in its URL only, where proxies and logs would keep it.
    if (request.body) throw withAdvice(error, NO_PASSWORD_ADVICE);
    return call.download({ ...request, method: 'GET' }, createDownload).catch((retryError: unknown) => {
      throw isUnknownEndpoint(asGatewayError(retryError)) ? error : retryError;
    });
  }
}

const NO_XML_ADVICE = 'Older releases have no XML export: take binary.';
const NO_PASSWORD_ADVICE = 'Releases that know GET alone take a password in the URL only, where it does not go: export without a password.';

/** Whether the error means that the appliance does not know the path or the method. */
function isUnknownEndpoint({ requestCode, details }: GatewayError): boolean {
  return requestCode !== undefined && (requestCode === 'NOT_FOUND' || details.status === 405);
}

function withAdvice(error: GatewayError, advice: string): GatewayError {
  return new GatewayError(error.code, safeMessage`${error} ${trusted(advice)}`, error.details);
}

async function receiveConfiguration<S>(
  kind: ConfigurationKind,
  request: Request,
  input: ExportInput,
  call: OperationContext,
  createOutput: () => Promise<ConfigurationDestination<S>>,
): Promise<ReceivedConfiguration<S>> {
  const { check = 'content' } = input;
  const received = await downloadConfiguration(
    kind,
    request,
    call,
    async () =>
      new ConfigurationReceiver({
        accept: EXPORT_ACCEPT_HEADERS[kind],
        output: await createOutput(),
        createCheck: () => createContentCheck(kind, { zipOnly: input.password === undefined }),
        shouldCheck: check === 'content',
        shouldHash: check !== 'none',
        onBytes: createProgressReporter(call),
      }),
  );
  const { bytes, sha256, checkResult } = received;
  call.addToEnvelope({ verified: checkResult?.verified ?? 'none', bytes, ...(sha256 !== null && { sha256 }) });
  return received;
}
