import { GatewayError } from '../model/error';
import { isObject } from '../model/json';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';

export type InventoryFormat = 'json' | 'yaml' | 'csv';

/** The unchecked entries of a text. */
export interface ParsedInventory {
  readonly entries: readonly unknown[];
  /** The line where an entry starts, if it is known. It is only searched for an error message. */
  readonly findLine: (index: number) => Promise<number | undefined>;
}

/** A file of ten thousand appliances has a few megabytes. */
export const MAX_INVENTORY_BYTES = 16 * 2 ** 20;

/** Prints nothing and reports a second document as an error, which the level `silent` would skip. */
const YAML_LOG_LEVEL = 'error';

/** The format of a file by the end of its name. Errors: `BAD_CONFIG` for another ending. */
export function detectInventoryFormat(file: string): InventoryFormat {
  const extension = /\.(json|ya?ml|csv)$/i.exec(file)?.[1]?.toLowerCase();
  if (extension === undefined) throw badConfig(safeMessage`The name of the inventory file must end in .json, .yaml, .yml or .csv.`);
  return extension === 'yml' ? 'yaml' : (extension as InventoryFormat);
}

/** Parses a text into a list of entries. Errors: `BAD_CONFIG` with the line. They do not quote the text, because it may contain a secret. */
export async function parseInventory(text: string, format: InventoryFormat): Promise<ParsedInventory> {
  const withoutBom = text.startsWith('\ufeff') ? text.slice(1) : text;
  if (format === 'csv') return parseCsv(withoutBom);
  if (format === 'yaml') return parseYaml(withoutBom);
  let entries: unknown;
  try {
    entries = JSON.parse(withoutBom);
  } catch {
    throw createParseError(await findFaultLine(withoutBom), 'it is no JSON');
  }
  const lines = memoize(() => findEntryLines(withoutBom));
  return { entries: toEntryList(entries), findLine: async (index) => (await lines())[index] };
}

function toEntryList(entries: unknown): unknown[] {
  if (Array.isArray(entries)) return entries as unknown[];
  throw badConfig(
    safeMessage`An inventory is a list of appliances; ${trusted(isObject(entries) ? 'an object' : 'something else')} was found.`,
  );
}

async function parseYaml(text: string): Promise<ParsedInventory> {
  const { parseDocument, LineCounter, isSeq, isNode } = await import('yaml');
  const counter = new LineCounter();
  // Every value is text, as in a CSV file: a name such as 007 stays what it is. Keys that come twice would cost more than linear time to find.
  const document = parseDocument(text, {
    schema: 'failsafe',
    merge: true,
    prettyErrors: false,
    uniqueKeys: false,
    lineCounter: counter,
    logLevel: YAML_LOG_LEVEL,
  });
  const [error] = document.errors;
  if (error) throw createParseError(counter.linePos(error.pos[0]).line, `it is no YAML (${error.code})`);
  let entries: unknown;
  try {
    entries = document.toJS({ maxAliasCount: 1000 });
  } catch {
    throw badConfig('The YAML of the inventory cannot be read: its aliases refer to each other too often, or to nothing.');
  }
  const { contents } = document;
  const findLine = (index: number): Promise<number | undefined> => {
    const item = isSeq(contents) ? contents.items[index] : undefined;
    const start = isNode(item) ? item.range?.[0] : undefined;
    return Promise.resolve(start === undefined ? undefined : counter.linePos(start).line);
  };
  return { entries: toEntryList(entries ?? []), findLine };
}

/** The same reader knows where the entries of JSON stand, which `JSON.parse` does not tell. */
async function findEntryLines(text: string): Promise<(number | undefined)[]> {
  const { entries, findLine } = await parseYaml(text).catch(() => ({ entries: [], findLine: () => Promise.resolve(undefined) }));
  return Promise.all(entries.map((_, index) => findLine(index)));
}

async function findFaultLine(text: string): Promise<number | undefined> {
  const { parseDocument, LineCounter } = await import('yaml');
  const lineCounter = new LineCounter();
  const [error] = parseDocument(text, { prettyErrors: false, uniqueKeys: false, lineCounter, logLevel: YAML_LOG_LEVEL }).errors;
  return error && lineCounter.linePos(error.pos[0]).line;
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
      if (errors.length > 0) parseError = createParseError(startLine, 'a quotation mark is missing, or stands where none can be');
      else if (data.every((cell) => cell.trim() === '') || data[0]?.startsWith('#') === true) return;
      else if (header === undefined) parseError = checkHeader((header = data.map((cell) => cell.trim())), startLine);
      else if (data.length !== header.length) {
        parseError = createParseError(startLine, `it has ${data.length} cells, and the first line has ${header.length}`);
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

function detectDelimiter(text: string): string {
  const head = text.split('\n').find((line) => line.trim() !== '' && !line.startsWith('#')) ?? '';
  return [';', '\t'].find((one) => head.includes(one)) ?? ',';
}

function checkHeader(header: readonly string[], line: number): GatewayError | undefined {
  const duplicate = header.find((name, index) => header.indexOf(name) !== index);
  if (header.includes('')) return createParseError(line, 'a column has no name');
  return duplicate === undefined ? undefined : createParseError(line, 'two columns have the same name');
}

function memoize<T>(load: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined;
  return () => (found ??= load());
}

function createParseError(line: number | undefined, reason: string): GatewayError {
  const location = line === undefined ? trusted('') : safeMessage`, line ${line}`;
  return badConfig(safeMessage`The inventory cannot be read${location}: ${trusted(reason)}.`, line);
}

function badConfig(errorText: string | SafeMessage, line?: number): GatewayError {
  return new GatewayError('BAD_CONFIG', errorText, { sent: false, ...(line !== undefined && { extra: { line } }) });
}
