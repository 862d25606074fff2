/** A table of texts. A list of plain values and an object have no header. */
interface ResultTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const MAX_COLUMNS = 5;
const MAX_CELL_CHARACTERS = 120;
const MAX_SHORT_CHARACTERS = 40;

/** Turns the data of a read into a table. Columns with plain values come before nested ones. */
export function toResultTable(data: unknown): ResultTable {
  if (!Array.isArray(data)) {
    if (!isRecord(data)) return { columns: [], rows: [[toCell(data)]] };
    return { columns: [], rows: Object.entries(data).map(([name, value]) => [name, toCell(value)]) };
  }
  const list: readonly unknown[] = data;
  if (!list.some(isRecord)) return { columns: [], rows: list.map((value) => [toCell(value)]) };
  const columns = chooseColumns(list.filter(isRecord));
  return { columns, rows: list.map((row) => (isRecord(row) ? columns.map((name) => toCell(row[name])) : [toCell(row)])) };
}

/** Returns the columns with the most values, in the order of the data. */
function chooseColumns(rows: readonly Record<string, unknown>[]): string[] {
  const scores = new Map<string, number>();
  for (const row of rows)
    for (const [name, value] of Object.entries(row)) scores.set(name, (scores.get(name) ?? 0) + getScore(name, value));
  const best = [...scores].sort(([, a], [, b]) => b - a).slice(0, MAX_COLUMNS);
  return [...scores.keys()].filter((name) => best.some(([chosen]) => chosen === name));
}

/** Matches the columns that come first: names, addresses and states, before identifiers and long texts. */
const TELLING = /(^|-)(name|username|user|ip|realm|roles?|state|status|time|date|enabled|type)$/;

function getScore(name: string, value: unknown): number {
  if (value === null || value === undefined || value === '') return 0;
  if (typeof value === 'object' || (typeof value === 'string' && value.length > MAX_SHORT_CHARACTERS)) return 1;
  return TELLING.test(name) ? 3 : 2;
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return '–';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_CELL_CHARACTERS ? `${text.slice(0, MAX_CELL_CHARACTERS)}…` : text;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
