import { badInput } from './error';
import type { Query } from './request';
import { trusted, safeMessage } from './safe-message';

/** Root of the configuration tree (appliance-api.md, "Generic configuration tree"). */
export const CONFIGURATION_ROOT = '/api/v1/configuration';
/** Root of the whole interface (appliance-api.md, "Endpoints"). */
const API_ROOT = '/api/v1';

/** Matches a path segment without characters that need encoding. Most names of the interface are like this. */
const PLAIN_SEGMENT = /^[\w-]+$/;

// Unreserved characters of RFC 3986; the interface lets only US-ASCII stand literally and lists `* / @ & #` as encoded.
const NOT_LITERAL = /[!'()*]/g;

/**
 * Encodes one raw name as one path segment (appliance-api.md, "URLs"): percent-encoded UTF-8 with a leading dot as `%2E`. Errors:
 * `BAD_INPUT` for half a surrogate pair.
 */
export function encodePathSegment(name: string): string {
  if (PLAIN_SEGMENT.test(name)) return name;
  const encoded = percentEncode(name);
  return encoded.startsWith('.') ? `%2E${encoded.slice(1)}` : encoded;
}

/** Encodes a name or value that never begins a segment, such as a query value. */
export function percentEncode(text: string): string {
  if (!text.isWellFormed()) throw badInput('A name contains half of a Unicode character. Check where it was cut.');
  return encodeURIComponent(text).replace(NOT_LITERAL, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/**
 * Template tag for fixed paths: every value becomes one encoded segment. Errors: `BAD_INPUT` for an empty name, and for `.` and `..`, also
 * between slashes: a server may take an encoded slash for a real one.
 */
export function encodedPath(literals: TemplateStringsArray, ...names: string[]): string {
  let path = literals[0] ?? '';
  names.forEach((name, index) => {
    if (name.trim() === '') throw badInput('A name is empty: the request would go to all of them.');
    if (canLeadToOtherPath(name)) throw badInput(safeMessage`The name "${name}" cannot be sent: in a URL it means another path.`);
    path += encodePathSegment(name) + (literals[index + 1] ?? '');
  });
  return path;
}

/** Returns the query string with `?`, or `''` for an empty query. Keys and values are encoded once. */
export function encodeQuery(query: Query | undefined): string {
  if (!query) return '';
  const parts = Object.entries(query).map(([key, value]) =>
    value === true ? percentEncode(key) : `${percentEncode(key)}=${percentEncode(value)}`,
  );
  return parts.length > 0 ? `?${parts.join('&')}` : '';
}

/**
 * Converts one of the contract's three forms of a path to a path below `/api/v1/configuration`: text, an `href` of the appliance, or an
 * array of raw segments. `expandPathTags` expands Mustache tags before. An href may contain `prefix`, the path of the base URL. Errors:
 * `BAD_INPUT` naming the fault.
 */
export function toConfigurationPath(path: string | readonly string[], prefix = ''): string {
  return resolveBelow(CONFIGURATION_ROOT, path, prefix, encodeTextSegment);
}

/**
 * Like `toConfigurationPath`, for any path below `/api/v1/`. Errors: `BAD_INPUT`, also for a path that any server could read as a login,
 * because its response would contain a key.
 */
export function toApiPath(path: string | readonly string[], prefix = ''): string {
  const fullPath = resolveBelow(API_ROOT, path, prefix, encodeApiSegment);
  if (fullPath === API_ROOT) throw badInput('path is the root of the interface. Give a path below /api/v1/.');
  if (isLoginPath(fullPath))
    throw badInput('path leads to a login. The library logs in by itself, and the response would expose an API key. Give another path.');
  return fullPath;
}

/** Parts of a segment that servers cut off: its parameters, and everything after a control character such as NUL. */
const PARAMETERS = /;|(?![\t-\r])\p{Cc}/u;

/** Reads a path as leniently as any server might: nested escapes, both slashes, dots, segment parameters, any case. */
function isLoginPath(path: string): boolean {
  const names: string[] = [];
  for (const segment of decodeRepeatedly(path).toLowerCase().split(/[/\\]/)) {
    const name = (segment.split(PARAMETERS, 1)[0] ?? '').trim();
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return ['auth', 'realm_auth'].includes(names[2] ?? '');
}

function decodeRepeatedly(path: string): string {
  let text = path;
  for (let times = 0; times < 8 && text.includes('%'); times++) {
    // Invalid UTF-8 becomes replacement characters, which match no login.
    text = text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8'));
  }
  return text;
}

function resolveBelow(
  root: string,
  path: string | readonly string[],
  prefix: string,
  encodeSegmentText: (segment: string) => string,
): string {
  if (typeof path !== 'string') {
    if (path.length === 0) throw badInput('path is an empty array: give at least one segment.');
    return `${root}${path.map((name) => `/${encodeRawSegment(name)}`).join('')}`;
  }
  if (path === '') throw badInput('path is empty. Give a path, or / for the root.');
  if (path.includes('?') || path.includes('#')) {
    throw badInput('path holds a ? or #. Write them as %3F or %23 inside a name; query flags go into the field query.');
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path) || path.startsWith('//')) {
    throw badInput('path is a full URL. Give only the part after /api/v1/, and choose the appliance in the node.');
  }
  const inner = stripRoot(root, path, prefix);
  const trailing = inner.endsWith('/') ? '/' : '';
  const text = inner.replace(/^\//, '').replace(/\/$/, '');
  if (text === '') return root;
  return `${root}${text
    .split('/')
    .map((segment) => `/${encodeSegmentText(segment)}`)
    .join('')}${trailing}`;
}

/** Returns the encoded segments of a canonical path below the configuration root. */
export function splitResourcePath(path: string): string[] {
  return path.length === CONFIGURATION_ROOT.length ? [] : path.slice(CONFIGURATION_ROOT.length + 1).split('/');
}

/** An href is host-absolute, with or without the path of the base URL. Any other text counts from the root. */
function stripRoot(root: string, path: string, prefix: string): string {
  for (const start of prefix ? [prefix + root, root] : [root]) {
    if (path === start) return '';
    if (path.startsWith(`${start}/`)) return path.slice(start.length);
  }
  // An href with another prefix belongs to another appliance.
  if (/(^|\/)api\/v1(\/|$)/.test(path)) {
    throw badInput(safeMessage`path is outside of ${trusted(root)}. Give a path below it.`);
  }
  return path;
}

function encodeRawSegment(name: unknown): string {
  if (typeof name !== 'string' && typeof name !== 'number') throw badInput('path is an array with an item that is not text.');
  const text = String(name);
  assertNoDotSegment(text, text);
  return encodePathSegment(text);
}

/** Characters that RFC 3986 allows in a segment besides the unreserved ones. */
const SEGMENT_CHARACTERS = /([:@!$&'()*+,;=]+)/;

/** Like `encodeTextSegment`, but keeps the characters that RFC 3986 allows, such as the colons of a MAC address. */
function encodeApiSegment(segment: string): string {
  const encodePiece = (piece: string): string =>
    piece
      .split(SEGMENT_CHARACTERS)
      .map((part, index) => (index % 2 === 1 ? part : percentEncode(part)))
      .join('');
  const encoded = encodeTextSegment(segment, encodePiece);
  // Some servers drop the parameters of a segment, so `..;x` leaves the path too.
  for (const part of decode(encoded).split(/[/\\]/)) if (isDotSegment(part.split(';', 1)[0] ?? '')) assertNoDotSegment('..', segment);
  return encoded;
}

/** Encodes a segment of text: a valid `%XX` stays, other characters that may not stand literally are encoded. */
function encodeTextSegment(segment: string, encodePiece = percentEncode): string {
  if (PLAIN_SEGMENT.test(segment)) return segment;
  const pieces = segment.split(/(%[0-9A-Fa-f]{2})/);
  const encoded = pieces.map((piece, index) => (index % 2 === 1 ? piece : encodePiece(piece))).join('');
  const decoded = decode(encoded);
  assertNoDotSegment(decoded, segment);
  // A server may take an encoded slash for a real one.
  for (const part of decoded.split(/[/\\]/)) if (isDotSegment(part)) assertNoDotSegment(part, segment);
  return encoded.startsWith('.') ? `%2E${encoded.slice(1)}` : encoded;
}

function decode(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw badInput(safeMessage`path has an escape in ${encoded} that is not UTF-8. Give the plain name; it is encoded before it is sent.`);
  }
}

/** Refuses an empty segment, `.` and `..`: the first loses a level, the others leave the tree. */
function assertNoDotSegment(name: string, displayName: string): void {
  if (name.trim() === '') throw badInput('path has an empty segment: a name is missing between two slashes.');
  if (isDotSegment(name)) throw badInput(safeMessage`path has the segment "${displayName}", which would leave the path.`);
}

function isDotSegment(name: string): boolean {
  return name === '.' || name === '..';
}

/** Whether a server that decodes slashes before dots could read the name as another path. It may drop the parameters of a segment. */
export function canLeadToOtherPath(name: string): boolean {
  return name.includes('.') && name.split(/[/\\]/).some((part) => isDotSegment(part.split(';', 1)[0] ?? ''));
}

/** Returns a path of the interface as a person writes it: without its beginning and its escapes. Other texts stay as they are. */
export function toReadablePath(path: string): string {
  const [, below] = /^\/api\/v1\/(?:configuration\/)?(.+)$/.exec(path) ?? [];
  if (below === undefined) return path;
  try {
    return decodeURIComponent(below);
  } catch {
    return below;
  }
}
