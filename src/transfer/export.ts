import { resolve } from 'node:path';
import { asGatewayError, GatewayError } from '../model/error';
import type { Call } from '../model/operation';
import { contentCheck, type Kind } from './content';
import { meter } from './meter';
import type { CHECKS } from './names';
import { FileOutput, MemoryOutput } from './outputs';
import { Receiver, type Output, type Received } from './receiver';
import type { Request } from '../model/request';
import { ours, sentence } from '../model/sentence';
import type { Download } from '../model/stream';

export interface ExportInput {
  readonly password?: string;
  readonly file?: string;
  readonly check?: (typeof CHECKS)[number];
}

/** Data of an export to a file; `sha256` is null when nothing was hashed. */
export interface ExportedFile {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string | null;
}

/** What the interface promises for each kind; anything is taken that passes the check. */
export const ACCEPT: Readonly<Record<Kind, string>> = { xml: 'application/xml, text/xml, */*;q=0.5', binary: 'text/html, */*;q=0.5' };

/**
 * Exports to the message or to a file. `envelope.verified` says how far the check went: `xml`, `zip`, `base64`, or `none`. Errors:
 * `BAD_RESPONSE` for what is short or broken, `BAD_INPUT` and `LIMIT` for a file that cannot be written; no file appears or changes.
 */
export async function exportConfiguration(kind: Kind, request: Request, input: ExportInput, call: Call): Promise<Buffer | ExportedFile> {
  const { file } = input;
  if (file === undefined) {
    const { stored } = await receive(kind, request, input, call, () => Promise.resolve(new MemoryOutput()));
    return stored;
  }
  const durable = input.check !== 'none';
  const { bytes, sha256 } = await receive(kind, request, input, call, () => FileOutput.create(file, durable));
  return { file: resolve(file), bytes, sha256 };
}

/**
 * One export, streamed into what `open` makes. A binary one goes by GET where this release knows no POST (field-notes.md, "Binary
 * configuration"). Errors: as of the exchange; a release without XML says so.
 */
export async function download<T>(kind: Kind, request: Request, call: Call, open: () => Promise<Download<T>>): Promise<T> {
  try {
    return await call.download(request, open);
  } catch (thrown) {
    const error = asGatewayError(thrown);
    if (!isUnknown(error)) throw error;
    if (kind === 'xml') throw error.answered === 'NOT_FOUND' ? withAdvice(error, NO_XML) : error;
    // In the URL, where alone a GET could carry it, proxies and logs would keep it.
    if (request.body) throw withAdvice(error, NO_PASSWORD);
    return call.download({ ...request, method: 'GET' }, open).catch((again: unknown) => {
      throw isUnknown(asGatewayError(again)) ? error : again;
    });
  }
}

const NO_XML = 'Older releases have no XML export: take binary.';
const NO_PASSWORD = 'Releases that know GET alone take a password in the URL only, where it does not go: export without a password.';

/** Whether the appliance does not know the path, or not by this method. */
function isUnknown({ answered, details }: GatewayError): boolean {
  return answered !== undefined && (answered === 'NOT_FOUND' || details.status === 405);
}

function withAdvice(error: GatewayError, advice: string): GatewayError {
  return new GatewayError(error.code, sentence`${error} ${ours(advice)}`, error.details);
}

async function receive<S>(
  kind: Kind,
  request: Request,
  input: ExportInput,
  call: Call,
  open: () => Promise<Output<S>>,
): Promise<Received<S>> {
  const { check = 'content' } = input;
  const received = await download(
    kind,
    request,
    call,
    async () =>
      new Receiver({
        accept: ACCEPT[kind],
        output: await open(),
        check: check === 'content' ? contentCheck(kind, { zipOnly: input.password === undefined }) : undefined,
        hash: check !== 'none',
        onBytes: meter(call),
      }),
  );
  const { bytes, sha256, checked } = received;
  call.note({ verified: checked?.verified ?? 'none', bytes, ...(sha256 !== null && { sha256 }) });
  return received;
}
