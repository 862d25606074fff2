import { Refusal } from './reply';

/**
 * The URL rules of the interface (appliance-api.md, "URLs"), from the appliance's side: what the
 * rules do not allow is refused with a sentence, never repaired, so that a client which encodes wrongly is noticed.
 */
export interface RequestTarget {
  /** Decoded path segments, without a trailing empty one (a trailing slash is accepted). */
  segments: string[];
  /** `undefined` = a bare flag. */
  query: Map<string, string | undefined>;
}

// Characters outside this set must be sent as %XX. `$ & * @` are sub-delims of RFC 3986, but the interface lists them as encoded.
const NOT_LITERAL = /[^A-Za-z0-9\-._~!'()+,;=:%/]/;
const NOT_LITERAL_IN_QUERY = /[^A-Za-z0-9\-._~!'(),;:%/?]/;
const BROKEN_PERCENT = /%(?![0-9A-Fa-f]{2})/;

function decode(raw: string, part: string): string {
  if (!raw.includes('%')) return raw;
  if (BROKEN_PERCENT.test(raw)) throw new Refusal(400, `Malformed percent-encoding in the ${part}: ${raw}`);
  let text: string;
  try {
    text = decodeURIComponent(raw);
  } catch {
    throw new Refusal(400, `The percent-encoding in the ${part} is not UTF-8: ${raw}`);
  }
  if (hasControl(text)) throw new Refusal(400, `Control characters are not allowed in the ${part}`);
  return text;
}

function hasControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < 0x20 || text.charCodeAt(i) === 0x7f) return true;
  return false;
}

function assertLiteralsAllowed(raw: string, pattern: RegExp, part: string): void {
  const found = pattern.exec(raw)?.[0];
  if (found === undefined) return;
  // Bytes above 0x7f never get here, because the parser of Node.js refuses them (server.ts, `unreadable`).
  const hex = found.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0');
  throw new Refusal(400, `The character ${found} must be sent as %${hex} (${part})`);
}

function parseSegment(raw: string): string {
  if (raw === '') throw new Refusal(400, 'Empty path segment');
  if (raw.startsWith('.')) throw new Refusal(400, `A leading dot must be sent as %2E: ${raw}`);
  return decode(raw, 'path');
}

function parseQuery(raw: string): Map<string, string | undefined> {
  const query = new Map<string, string | undefined>();
  for (const part of raw.split('&')) {
    if (part === '') continue; // the interface itself writes `expand&&exclude…`
    const at = part.indexOf('=');
    assertLiteralsAllowed(at < 0 ? part : part.slice(0, at) + part.slice(at + 1), NOT_LITERAL_IN_QUERY, 'query');
    const key = decode(at < 0 ? part : part.slice(0, at), 'query');
    if (query.has(key)) throw new Refusal(400, `The query key ${key} is given twice`);
    query.set(key, at < 0 ? undefined : decode(part.slice(at + 1), 'query'));
  }
  return query;
}

const NO_QUERY: ReadonlyMap<string, string | undefined> = new Map();

export function parseTarget(raw: string): RequestTarget {
  const at = raw.indexOf('?');
  const path = at < 0 ? raw : raw.slice(0, at);
  assertLiteralsAllowed(path, NOT_LITERAL, 'path');
  if (!path.startsWith('/')) throw new Refusal(400, 'The path must start with a slash');
  const parts = path.slice(1).split('/');
  if (parts.at(-1) === '') parts.pop();
  return { segments: parts.map(parseSegment), query: at < 0 ? new Map(NO_QUERY) : parseQuery(raw.slice(at + 1)) };
}

/** A name as one segment of an `href`: already encoded, leading dot included ("Hyperlink object" and rule 7). */
export function encodePathSegment(name: string): string {
  const encoded = encodeURIComponent(name).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return encoded.startsWith('.') ? `%2E${encoded.slice(1)}` : encoded;
}
