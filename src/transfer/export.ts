import { resolve } from 'node:path';
import { asGatewayError, GatewayError } from '../model/error';
import type { OperationContext } from '../model/operation';
import { createContentCheck, type ConfigurationKind } from './content-check';
import { createProgressReporter } from './progress-reporter';
import type { CHECK_LEVELS } from './constants';
import { FileOutput, MemoryOutput } from './outputs';
import { ConfigurationReceiver, type ConfigurationOutput, type ReceivedConfiguration } from './configuration-receiver';
import type { Request } from '../model/request';
import { trusted, safeMessage } from '../model/safe-message';
import type { Download } from '../model/stream';

export interface ExportInput {
  readonly password?: string;
  readonly file?: string;
  readonly check?: (typeof CHECK_LEVELS)[number];
}

/** Data of an export to a file; `sha256` is null when nothing was hashed. */
export interface ExportedFile {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string | null;
}

/** What the interface promises for each kind; anything is taken that passes the check. */
export const ACCEPT_HEADERS: Readonly<Record<ConfigurationKind, string>> = {
  xml: 'application/xml, text/xml, */*;q=0.5',
  binary: 'text/html, */*;q=0.5',
};

/**
 * Exports to the message or to a file. `envelope.verified` says how far the check went: `xml`, `zip`, `base64`, or `none`. Errors:
 * `BAD_RESPONSE` for what is short or broken, `BAD_INPUT` and `LIMIT` for a file that cannot be written; no file appears or changes.
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
 * One export, streamed into what `open` makes. A binary one goes by GET where this release knows no POST (field-notes.md, "Binary
 * configuration"). Errors: as of the exchange; a release without XML says so.
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
    // In the URL, where alone a GET could carry it, proxies and logs would keep it.
    if (request.body) throw withAdvice(error, NO_PASSWORD_ADVICE);
    return call.download({ ...request, method: 'GET' }, createDownload).catch((retryError: unknown) => {
      throw isUnknownEndpoint(asGatewayError(retryError)) ? error : retryError;
    });
  }
}

const NO_XML_ADVICE = 'Older releases have no XML export: take binary.';
const NO_PASSWORD_ADVICE = 'Releases that know GET alone take a password in the URL only, where it does not go: export without a password.';

/** Whether the appliance does not know the path, or not by this method. */
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
  createOutput: () => Promise<ConfigurationOutput<S>>,
): Promise<ReceivedConfiguration<S>> {
  const { check = 'content' } = input;
  const received = await downloadConfiguration(
    kind,
    request,
    call,
    async () =>
      new ConfigurationReceiver({
        accept: ACCEPT_HEADERS[kind],
        output: await createOutput(),
        check: check === 'content' ? createContentCheck(kind, { zipOnly: input.password === undefined }) : undefined,
        shouldHash: check !== 'none',
        onBytes: createProgressReporter(call),
      }),
  );
  const { bytes, sha256, checkResult } = received;
  call.addToEnvelope({ verified: checkResult?.verified ?? 'none', bytes, ...(sha256 !== null && { sha256 }) });
  return received;
}
