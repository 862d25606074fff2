import { Refusal } from './reply';

/** The parts of a multipart form (RFC 7578), read from the whole body. */
export interface FormPart {
  data: Buffer;
  filename: string | undefined;
}

function findHeaderField(head: string, name: string): string | undefined {
  return new RegExp(`[;\\s]${name}="([^"]*)"`, 'i').exec(head)?.[1];
}

function readBoundary(type: string | undefined): string {
  const match = /^multipart\/form-data;.*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(type ?? '');
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined) throw new Refusal(400, 'The body must be a multipart form with a boundary');
  return boundary;
}

export function parseMultipartForm(raw: Buffer, type: string | undefined): Map<string, FormPart> {
  const delimiter = Buffer.from(`--${readBoundary(type)}`);
  const parts = new Map<string, FormPart>();
  let at = raw.indexOf(delimiter);
  if (at < 0) throw new Refusal(400, 'The multipart form does not hold its boundary');
  for (;;) {
    at += delimiter.length;
    if (raw.toString('latin1', at, at + 2) === '--') return parts;
    const headEnd = raw.indexOf('\r\n\r\n', at);
    const next = headEnd < 0 ? -1 : raw.indexOf(Buffer.concat([Buffer.from('\r\n'), delimiter]), headEnd);
    if (next < 0) throw new Refusal(400, 'The multipart form ends early');
    const head = raw.toString('utf8', at, headEnd);
    const name = findHeaderField(head, 'name');
    if (name === undefined || parts.has(name)) throw new Refusal(400, 'A part of the form has no name, or the same as another');
    parts.set(name, { data: raw.subarray(headEnd + 4, next), filename: findHeaderField(head, 'filename') });
    at = next + 2;
  }
}
