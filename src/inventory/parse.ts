import { GatewayError } from '../model/error';
import { isObject } from '../model/json';
import { ours, sentence, type Sentence } from '../model/sentence';

export type InventoryFormat = 'json' | 'yaml' | 'csv';

/** What a text holds, before anybody has asked what it means. */
export interface Parsed {
  readonly entries: readonly unknown[];
  /** The line that an entry begins at, as far as that is known: looked for when there is something to tell. */
  readonly lineOf: (index: number) => Promise<number | undefined>;
}

/** A file of ten thousand appliances has a few megabytes; what is larger is something else. */
export const LARGEST_BYTES = 16 * 2 ** 20;

/** Nothing is printed, and a second document is a fault: the `silent` reader passes it over. */
const LOG = 'error';

/** The format by a file's name. Errors: `BAD_CONFIG` for another ending. */
export function formatOf(file: string): InventoryFormat {
  const ending = /\.(json|ya?ml|csv)$/i.exec(file)?.[1]?.toLowerCase();
  if (ending === undefined) throw bad(sentence`The name of the inventory's file has to end in .json, .yaml, .yml or .csv.`);
  return ending === 'yml' ? 'yaml' : (ending as InventoryFormat);
}

/** Reads a text as a list of entries. Errors: `BAD_CONFIG` with the line. Nothing of the text is quoted: there may be a secret in it. */
export async function parseInventory(text: string, format: InventoryFormat): Promise<Parsed> {
  const plain = text.startsWith('\ufeff') ? text.slice(1) : text;
  if (format === 'csv') return parseCsv(plain);
  if (format === 'yaml') return parseYaml(plain);
  let entries: unknown;
  try {
    entries = JSON.parse(plain);
  } catch {
    throw fault(await lineOfFault(plain), 'it is no JSON');
  }
  const lines = once(() => linesOf(plain));
  return { entries: listOf(entries), lineOf: async (index) => (await lines())[index] };
}

function listOf(entries: unknown): unknown[] {
  if (Array.isArray(entries)) return entries as unknown[];
  throw bad(sentence`An inventory is a list of appliances; ${ours(isObject(entries) ? 'an object' : 'something else')} was found.`);
}

async function parseYaml(text: string): Promise<Parsed> {
  const { parseDocument, LineCounter, isSeq, isNode } = await import('yaml');
  const counter = new LineCounter();
  // Every value is text, as in a CSV file: a name such as 007 stays what it is. Keys that come twice would cost more than linear time to find.
  const document = parseDocument(text, {
    schema: 'failsafe',
    merge: true,
    prettyErrors: false,
    uniqueKeys: false,
    lineCounter: counter,
    logLevel: LOG,
  });
  const [error] = document.errors;
  if (error) throw fault(counter.linePos(error.pos[0]).line, `it is no YAML (${error.code})`);
  let entries: unknown;
  try {
    entries = document.toJS({ maxAliasCount: 1000 });
  } catch {
    throw bad('The YAML of the inventory cannot be read: its aliases refer to each other too often, or to nothing.');
  }
  const { contents } = document;
  const lineOf = (index: number): Promise<number | undefined> => {
    const item = isSeq(contents) ? contents.items[index] : undefined;
    const start = isNode(item) ? item.range?.[0] : undefined;
    return Promise.resolve(start === undefined ? undefined : counter.linePos(start).line);
  };
  return { entries: listOf(entries ?? []), lineOf };
}

/** The same reader knows where the entries of JSON stand, which `JSON.parse` does not tell. */
async function linesOf(text: string): Promise<(number | undefined)[]> {
  const { entries, lineOf } = await parseYaml(text).catch(() => ({ entries: [], lineOf: () => Promise.resolve(undefined) }));
  return Promise.all(entries.map((_, index) => lineOf(index)));
}

async function lineOfFault(text: string): Promise<number | undefined> {
  const { parseDocument, LineCounter } = await import('yaml');
  const lineCounter = new LineCounter();
  const [error] = parseDocument(text, { prettyErrors: false, uniqueKeys: false, lineCounter, logLevel: LOG }).errors;
  return error && lineCounter.linePos(error.pos[0]).line;
}

/** The first line names the properties. Cells are separated by what stands between those: comma, semicolon or tab. */
async function parseCsv(text: string): Promise<Parsed> {
  // By its default: what is no ES module has its names there alone, once it is built.
  const { default: papaparse } = await import('papaparse');
  const delimiter = delimiterOf(text);
  const entries: Record<string, string>[] = [];
  const lines: number[] = [];
  let header: string[] | undefined;
  let broken: GatewayError | undefined;
  let line = 1;
  let from = 0;
  papaparse.parse<string[]>(text, {
    delimiter,
    step: ({ data, errors, meta }, parser) => {
      const at = line;
      // Of a cell with line ends in it the row has several.
      for (let end = text.indexOf('\n', from); end >= 0 && end < meta.cursor; end = text.indexOf('\n', end + 1)) line++;
      from = meta.cursor;
      if (errors.length > 0) broken = fault(at, 'a quotation mark is missing, or stands where none can be');
      else if (data.every((cell) => cell.trim() === '') || data[0]?.startsWith('#') === true) return;
      else if (header === undefined) broken = faultOfHeader((header = data.map((cell) => cell.trim())), at);
      else if (data.length !== header.length) {
        broken = fault(at, `it has ${data.length} cells, and the first line has ${header.length}`);
      } else {
        entries.push(Object.fromEntries(header.map((name, index) => [name, (data[index] ?? '').trim()])));
        lines.push(at);
      }
      if (broken) parser.abort();
    },
  });
  if (broken) throw broken;
  return { entries, lineOf: (index) => Promise.resolve(lines[index]) };
}

function delimiterOf(text: string): string {
  const head = text.split('\n').find((line) => line.trim() !== '' && !line.startsWith('#')) ?? '';
  return [';', '\t'].find((one) => head.includes(one)) ?? ',';
}

function faultOfHeader(header: readonly string[], line: number): GatewayError | undefined {
  const twice = header.find((name, index) => header.indexOf(name) !== index);
  if (header.includes('')) return fault(line, 'a column has no name');
  return twice === undefined ? undefined : fault(line, 'two columns have the same name');
}

function once<T>(find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined;
  return () => (found ??= find());
}

function fault(line: number | undefined, what: string): GatewayError {
  const where = line === undefined ? ours('') : sentence`, line ${line}`;
  return bad(sentence`The inventory cannot be read${where}: ${ours(what)}.`, line);
}

function bad(words: string | Sentence, line?: number): GatewayError {
  return new GatewayError('BAD_CONFIG', words, { sent: false, ...(line !== undefined && { extra: { line } }) });
}
