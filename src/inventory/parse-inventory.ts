import type * as Yaml from 'yaml';
import type { CST, LineCounter } from 'yaml';
import { GatewayError } from '../model/error';
import { isObject } from '../model/json';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';
import { locateJsonElements, toLineAndColumn } from './scan-json';

export type InventoryFormat = 'json' | 'yaml' | 'csv';

/** The entries of an inventory text, before they are checked. */
interface ParsedInventory {
  readonly entries: readonly unknown[];
  /** The line where an entry starts, if it is known. It is only searched for an error message. */
  readonly findLine: (index: number) => Promise<number | undefined>;
}

/** Maximum size of an inventory. A file of ten thousand appliances has a few megabytes. */
export const MAX_INVENTORY_BYTES = 16 * 2 ** 20;

/** Maximum nesting: an entry is a list, a map and a list of tags. Recursive functions must not get more levels. */
const MAX_NESTING = 20;
/** Maximum number of aliases, because the time to resolve them grows with the product of anchors and aliases. */
const MAX_YAML_ANCHORS = 100;
const MAX_YAML_ALIASES = 1000;
const MAX_YAML_KEYS = 1000;

/** Prints nothing and reports a second document as an error, which the level `silent` would skip. */
const YAML_LOG_LEVEL = 'error';

/** The format of a file by the end of its name. Errors: `BAD_CONFIG` for another ending. */
export function detectInventoryFormat(file: string): InventoryFormat {
  const extension = /\.(json|ya?ml|csv)$/i.exec(file)?.[1]?.toLowerCase();
  if (extension === undefined) throw badConfig(safeMessage`The name of the inventory file must end in .json, .yaml, .yml or .csv.`);
  return extension === 'yml' ? 'yaml' : (extension as InventoryFormat);
}

/**
 * Parses a text into a list of entries. Errors: `BAD_CONFIG` with the line. They do not quote the text, because it may contain a secret.
 */
export async function parseInventory(text: string, format: InventoryFormat): Promise<ParsedInventory> {
  const withoutBom = text.startsWith('\ufeff') ? text.slice(1) : text;
  if (format === 'csv') return parseCsv(withoutBom);
  return format === 'yaml' ? parseYaml(withoutBom) : parseJson(withoutBom);
}

function toEntryList(entries: unknown): unknown[] {
  if (Array.isArray(entries)) return entries as unknown[];
  throw badConfig(
    safeMessage`An inventory is a list of appliances; ${trusted(isObject(entries) ? 'an object' : 'something else')} was found.`,
  );
}

function parseJson(text: string): ParsedInventory {
  const { fault, elementOffsets } = locateJsonElements(text, MAX_NESTING);
  if (fault) throw createParseError(toLineAndColumn(text, fault.offset), fault.reason);
  return {
    entries: toEntryList(JSON.parse(text)),
    findLine: (index) => {
      const offset = elementOffsets[index];
      return Promise.resolve(offset === undefined ? undefined : toLineAndColumn(text, offset).line);
    },
  };
}

async function parseYaml(text: string): Promise<ParsedInventory> {
  const yaml = await import('yaml');
  const { Composer, LineCounter, isSeq, isNode } = yaml;
  const counter = new LineCounter();
  // Every value is text, as in a CSV file: a name such as 007 stays what it is. Keys that come twice would cost more than linear time to find.
  const composer = new Composer({ schema: 'failsafe', merge: true, prettyErrors: false, uniqueKeys: false, logLevel: YAML_LOG_LEVEL });
  const documents = composer.compose(checkTokens(text, yaml, counter), true, text.length);
  const { value: document } = documents.next();
  if (!document) throw createParseError(undefined, 'it is not valid YAML');
  const [error] = document.errors;
  if (error) throw createParseError(toPosition(counter.linePos(error.pos[0])), `it is not valid YAML (${error.code})`);
  const { value: secondDocument } = documents.next();
  if (secondDocument) throw createParseError(toPosition(counter.linePos(secondDocument.range[0])), 'it has several YAML documents');
  let entries: unknown;
  try {
    entries = document.toJS({ maxAliasCount: MAX_YAML_ALIASES });
  } catch {
    throw badConfig('The YAML of the inventory cannot be read: its aliases refer to each other too often, or to a missing anchor.');
  }
  const { contents } = document;
  const findLine = (index: number): Promise<number | undefined> => {
    const item = isSeq(contents) ? contents.items[index] : undefined;
    const start = isNode(item) ? item.range?.[0] : undefined;
    return Promise.resolve(start === undefined ? undefined : counter.linePos(start).line);
  };
  return { entries: toEntryList(entries ?? []), findLine };
}

/**
 * The tokens of a YAML text for the composer, which is recursive and not linear. So nesting, anchors, aliases and keys are limited before the
 * composer sees them. The lexer recurses with the nesting too, but this loop stops it at the limit.
 */
function* checkTokens(text: string, { CST, Lexer, Parser }: typeof Yaml, counter: LineCounter): Generator<CST.Token> {
  const parser = new Parser(counter.addNewLine);
  counter.addNewLine(0);
  let anchorCount = 0;
  let aliasCount = 0;
  let isScalar = false;
  const refuse: Refuse = (reason, position = parser.offset) => createParseError(toPosition(counter.linePos(position)), reason);
  for (const source of new Lexer().lex(text)) {
    // A marker precedes each plain and block scalar, whose text may look like another token.
    const type = isScalar ? 'scalar' : CST.tokenType(source);
    isScalar = source === CST.SCALAR;
    if (type === 'anchor' && ++anchorCount > MAX_YAML_ANCHORS) throw refuse(`it has more than ${MAX_YAML_ANCHORS} YAML anchors`);
    if (type === 'alias' && ++aliasCount > MAX_YAML_ALIASES) throw refuse(`it has more than ${MAX_YAML_ALIASES} YAML aliases`);
    if (type === 'explicit-key-ind') throw refuse('a YAML key is not a text');
    for (const token of parser.next(source)) {
      checkKeys(token, refuse);
      yield token;
    }
    // The stack also holds the document and the innermost scalar.
    if (parser.stack.length > MAX_NESTING + 2) throw refuse(`it is nested deeper than ${MAX_NESTING} levels`);
  }
  for (const token of parser.end()) {
    checkKeys(token, refuse);
    yield token;
  }
}

type Refuse = (reason: string, position?: number) => GatewayError;
const SCALAR_TYPES: ReadonlySet<string> = new Set(['scalar', 'single-quoted-scalar', 'double-quoted-scalar']);

/** Refuses maps as keys, and maps with so many keys that a thousand merges of them would take long. */
function checkKeys(token: CST.Token, refuse: Refuse): void {
  const pending: CST.Token[] = [token];
  for (let current = pending.pop(); current; current = pending.pop()) {
    if (current.type === 'document' && current.value) pending.push(current.value);
    if (!('items' in current)) continue;
    const isMap = current.type === 'block-map' || (current.type === 'flow-collection' && current.start.type === 'flow-map-start');
    if (isMap && current.items.length > MAX_YAML_KEYS) throw refuse(`a map has more than ${MAX_YAML_KEYS} keys`, current.offset);
    for (const { key, value } of current.items) {
      if (key && !SCALAR_TYPES.has(key.type)) throw refuse('a YAML key is not a text', key.offset);
      if (value) pending.push(value);
    }
  }
}

/** Parses CSV. The first line names the properties; its separator (comma, semicolon or tab) applies to all lines. */
async function parseCsv(text: string): Promise<ParsedInventory> {
  // The default export, because a CommonJS module has its names only there after the build.
  const { default: papaparse } = await import('papaparse');
  const delimiter = detectDelimiter(text);
  const entries: Record<string, string>[] = [];
  const lines: number[] = [];
  let header: string[] | undefined;
  let parseError: GatewayError | undefined;
  let line = 1;
  let rowStart = 0;
  papaparse.parse<string[]>(text, {
    delimiter,
    step: ({ data, errors, meta }, parser) => {
      const startLine = line;
      // A row has several lines if a cell contains line ends.
      for (let end = text.indexOf('\n', rowStart); end >= 0 && end < meta.cursor; end = text.indexOf('\n', end + 1)) line++;
      rowStart = meta.cursor;
      if (errors.length > 0) parseError = createParseError({ line: startLine }, 'a quotation mark is missing, or stands where none can be');
      else if (data.every((cell) => cell.trim() === '') || data[0]?.startsWith('#') === true) return;
      else if (header === undefined) parseError = checkHeader((header = data.map((cell) => cell.trim())), delimiter, startLine);
      else if (data.length !== header.length) {
        const cells = data.length === 1 ? '1 cell' : `${data.length} cells`;
        const hint = describeOtherSeparator(data, delimiter);
        parseError = createParseError({ line: startLine }, `it has ${cells}, and the first line has ${header.length}${hint}`);
      } else {
        entries.push(Object.fromEntries(header.map((name, index) => [name, (data[index] ?? '').trim()])));
        lines.push(startLine);
      }
      if (parseError) parser.abort();
    },
  });
  if (parseError) throw parseError;
  return { entries, findLine: (index) => Promise.resolve(lines[index]) };
}

const SEPARATOR_NAMES: ReadonlyMap<string, string> = new Map([
  [';', 'semicolons'],
  ['\t', 'tabs'],
  [',', 'commas'],
]);

function detectDelimiter(text: string): string {
  const head = text.split('\n').find((line) => line.trim() !== '' && !line.startsWith('#')) ?? '';
  return [...SEPARATOR_NAMES.keys()].find((separator) => head.includes(separator)) ?? ',';
}

/** Suggests another separator. Spreadsheets in some countries write semicolons, so a line can differ from the first one. */
function describeOtherSeparator(cells: readonly string[], delimiter: string): string {
  const others = [...SEPARATOR_NAMES].filter(([separator]) => separator !== delimiter && cells.some((cell) => cell.includes(separator)));
  const names = others.map(([, name]) => name).join(' and ');
  return (
    names && `. It contains ${names}, but the first line is separated by ${SEPARATOR_NAMES.get(delimiter)}. Use one separator in all lines`
  );
}

function checkHeader(header: readonly string[], delimiter: string, line: number): GatewayError | undefined {
  if (header.includes('')) return createParseError({ line }, 'a column has no name');
  if (new Set(header).size < header.length) return createParseError({ line }, 'two columns have the same name');
  const other = [...SEPARATOR_NAMES].find(([separator]) => separator !== delimiter && header.some((name) => name.includes(separator)));
  if (!other) return undefined;
  return createParseError({ line }, `it contains both ${SEPARATOR_NAMES.get(delimiter)} and ${other[1]}. Use one separator in all lines`);
}

interface Position {
  readonly line: number;
  readonly column?: number;
}

function toPosition({ line, col }: { line: number; col: number }): Position {
  return { line, column: col };
}

function createParseError(position: Position | undefined, reason: string): GatewayError {
  const column = position?.column === undefined ? trusted('') : safeMessage`, column ${position.column}`;
  const location = position === undefined ? trusted('') : safeMessage`, line ${position.line}${column}`;
  return badConfig(safeMessage`The inventory cannot be read${location}: ${trusted(reason)}.`, position?.line);
}

function badConfig(errorText: string | SafeMessage, line?: number): GatewayError {
  return new GatewayError('BAD_CONFIG', errorText, { sent: false, ...(line !== undefined && { extra: { line } }) });
}
