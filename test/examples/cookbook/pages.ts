import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pretty } from '../../../scripts/pretty.mjs';
import { root } from '../../../scripts/tools.mjs';

const MAX_ITEMS = 2;
/** Lists with longer items show only one item. */
const LONG = 300;
const WIDTH = 110;
/** Longer texts show only their first lines. */
const MAX_LINES = 12;

/** Replaces values that differ in each run: times, ids, local addresses. */
const STAND_INS: [RegExp, string][] = [
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '2026-11-20T08:00:00.000Z'],
  [/\b\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, '2026-11-20 08:00 UTC'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '0b8e4c1a-6d2f-4f0e-9a57-3c1d2b7e8f90'],
  [/\bsid[0-9a-f]{40}\b/g, 'sid1a2b3c…'],
  [/\b\d{8}-[0-9a-f]{8}-[0-9a-f-]+-\d+\b/g, '20261120-5f0c1a2b-4711-0a1b2c3d4e5f-17'],
  [/\/tmp\/gateway-demo-\w+\b/g, '/var/lib/gateway'],
  [/\b127\.0\.0\.1-\d+_SIM\w+_\d{8}T\d{6}\.\d{3}Z/g, 'vpn-1_0123ABC456_20261120T020000.000Z'],
  [/\b127\.0\.0\.1:\d+/g, 'vpn.example.com'],
  [/\b([0-9A-F]{2}:){31}[0-9A-F]{2}\b/g, 'B7:28:F1:80…'],
  [/^[0-9a-f]{64}$/, '5f3a0c9e…'],
  [/^[0-9a-f]{16}$/, '1a2b3c4d5e6f7081'],
];
const KEYS: Record<string, string> = {
  'machine-id': '1A2B3C4D5E6F70819203',
  'serial-number': '0123ABC456',
  signature: 'c2lnbmF0dXJl…',
  'time-stamp': 'Fri, 20 Nov 2026 08:00:00 GMT',
  resumeId: 'r1',
};
const NUMBERS: Record<string, number> = { days: 90, bytes: 16384 };
/** Values that depend on the moment, such as durations. */
const LEFT_OUT = new Set(['_msgid', 'ms', 'logins', 'requests', 'retries']);

function withoutRest(text: string): string {
  const lines = text.split('\n');
  return lines.length > MAX_LINES ? `${lines.slice(0, MAX_ITEMS).join('\n')}\n… ${lines.length - MAX_ITEMS} more` : text;
}

export function settled(value: unknown, key = ''): unknown {
  if (typeof value === 'string')
    return KEYS[key] ?? STAND_INS.reduce((text, [pattern, standIn]) => text.replace(pattern, standIn), withoutRest(value));
  if (Array.isArray(value)) {
    const most = JSON.stringify(value[0] ?? '').length > LONG ? 1 : MAX_ITEMS;
    const items = value.slice(0, value.length > most + 1 ? most : value.length).map((item) => settled(item));
    return items.length < value.length ? [...items, `… ${value.length - items.length} more`] : items;
  }
  if (typeof value === 'number') return NUMBERS[key] ?? value;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => !LEFT_OUT.has(name));
  return Object.fromEntries(entries.map(([name, inner]) => [name, settled(inner, name)]));
}

interface Message {
  payload?: { results?: unknown[] };
  envelope?: { request?: object };
}

/** A message as the pages show it. With parallel requests, the envelope names any one of them. */
export function shown(message: unknown): string {
  const { envelope, ...rest } = structuredClone(message) as Message;
  if ((rest.payload?.results?.length ?? 0) > 1) delete envelope?.request;
  return pretty(settled(envelope ? { ...rest, envelope } : rest), WIDTH);
}

const block = (which: string): RegExp => new RegExp(`(<!-- ${which} -->\\n\`\`\`json\\n)([^]*?)(\`\`\`)`);

/** A page of the cookbook. */
export class Page {
  readonly #file: string;
  text: string;

  constructor(readonly slug: string) {
    this.#file = join(root, 'docs', 'cookbook', `${slug}.md`);
    this.text = readFileSync(this.#file, 'utf8');
  }

  /** Reads the message that the page shows. */
  get(which: 'before' | 'after'): string {
    return block(which).exec(this.text)?.[2]?.trimEnd() ?? '';
  }

  /** Writes the messages of a run into the page. */
  set(which: 'before' | 'after', message: string): void {
    this.text = this.text.replace(block(which), (_, open: string, __, close: string) => `${open}${message}\n${close}`);
    writeFileSync(this.#file, this.text);
  }
}
