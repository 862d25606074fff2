import { resolve } from 'node:path';
import type { Call } from '../model/operation';
import { contentCheck, type Kind } from './content';
import { meter } from './meter';
import type { CHECKS } from './names';
import { FileOutput, MemoryOutput } from './outputs';
import { Receiver, type Output, type Received } from './receiver';
import type { Request } from '../model/request';

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

async function receive<S>(
  kind: Kind,
  request: Request,
  input: ExportInput,
  call: Call,
  open: () => Promise<Output<S>>,
): Promise<Received<S>> {
  const { check = 'content' } = input;
  const received = await call.download(
    request,
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
