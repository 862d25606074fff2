import { badInput, GatewayError } from '../model/error';
import { isObject } from '../model/json';
import { isSecretName } from '../model/secrets';
import { joined, ours, sentence, type Sentence } from '../model/sentence';
import { CREDENTIAL_NAMES, SETTING_KINDS } from '../model/setting-kinds';

/** One appliance as an inventory has it. */
export interface InventoryEntry {
  readonly name: string;
  readonly tags: readonly string[];
  /** Name of the credential set that logs in there. */
  readonly credentials: string;
  /** What the entry says of its own, `url` above all; the rest is in the defaults. */
  readonly properties: Readonly<Record<string, unknown>>;
}

/** What an entry may say beside name, tags and credentials. */
export const ENTRY_PROPERTIES: readonly string[] = [...Object.keys(SETTING_KINDS), 'tls', 'proxy'].filter((name) => name !== 'name');

export const DEFAULT_SET = 'default';
export const MOST_ENTRIES = 100_000;

const LONGEST_NAME = 200;
/** Of more faults the number is enough. */
const MOST_TOLD = 5;
/** A name of a set becomes a part of a path and of a variable's name. */
const SET_NAME = /^[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}$/;
/** What means something in a selection, or cannot be seen. */
const ODD_IN_NAME = /[*|"\p{Cc}]|^!|^tag:|^\s|\s$/u;
const ODD_IN_TAG = /[\s*|"!]/;

/** One thing that is wrong, and at which entry. */
interface Fault {
  readonly index: number;
  readonly name: unknown;
  readonly what: Sentence;
}

/**
 * Checks raw entries, all of them. `check` looks at the properties of one as they will be used, and throws what is wrong with them.
 * Errors: `BAD_CONFIG` with the line, the field and the reason of each fault; no value is quoted but a name.
 */
export async function readEntries(
  raw: readonly unknown[],
  check: (entry: InventoryEntry) => void,
  lineOf: (index: number) => Promise<number | undefined> = () => Promise.resolve(undefined),
): Promise<InventoryEntry[]> {
  if (raw.length > MOST_ENTRIES) throw bad(sentence`The inventory has ${raw.length} appliances; at most ${MOST_ENTRIES} can be.`);
  const faults: Fault[] = [];
  const first = new Map<string, number>();
  const entries = raw.map((one, index) => {
    try {
      const entry = entryOf(one);
      const before = first.get(entry.name);
      if (before !== undefined) throw badInput(sentence`name: an appliance further up has it too (entry ${before + 1}).`);
      first.set(entry.name, index);
      check(entry);
      return entry;
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown;
      faults.push({ index, name: isObject(one) ? one.name : undefined, what: thrown.sentence });
      return undefined;
    }
  });
  if (faults.length > 0) throw await faultOf(faults, lineOf);
  return entries.filter((entry) => entry !== undefined);
}

/** What the appliances have in common; a script may give `tls` and `proxy` as objects. Errors: `BAD_CONFIG`. */
export function checkDefaults(defaults: Readonly<Record<string, unknown>>): void {
  for (const [property, value] of Object.entries(defaults)) {
    try {
      if (property === 'name') throw badInput('name: each appliance has one of its own.');
      checkProperty(property, property === 'tls' || property === 'proxy' ? '' : value);
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown;
      throw bad(sentence`The defaults of the inventory cannot be used. ${thrown}`);
    }
  }
}

async function faultOf(faults: readonly Fault[], lineOf: (index: number) => Promise<number | undefined>): Promise<GatewayError> {
  const lines = await Promise.all(faults.slice(0, MOST_TOLD).map(({ index }) => lineOf(index)));
  const told = lines.map((line, at) => {
    const { index, name, what } = faults[at] as Fault;
    const place = line === undefined ? sentence`entry ${index + 1}` : sentence`line ${line}`;
    const who = typeof name === 'string' && name !== '' ? sentence` (${name.slice(0, LONGEST_NAME).replace(/\s+/g, ' ')})` : ours('');
    return sentence`${place}${who}: ${what}`;
  });
  const more = faults.length > MOST_TOLD ? sentence` And ${faults.length - MOST_TOLD} more.` : ours('');
  const [line] = lines;
  return bad(sentence`The inventory was not taken over. ${joined(told, ' ')}${more}`, line);
}

function entryOf(raw: unknown): InventoryEntry {
  if (!isObject(raw)) throw badInput('it is no appliance: name and url are needed.');
  const { name, tags, credentials, ...rest } = raw;
  for (const [property, value] of Object.entries(rest)) checkProperty(property, value);
  const properties = Object.fromEntries(Object.entries(rest).filter(([, value]) => isGiven(value)));
  const set = isGiven(credentials) ? textOf(credentials) : DEFAULT_SET;
  if (set === undefined || !SET_NAME.test(set) || set.includes('..'))
    throw badInput('credentials: it has to be the name of a credential set, of letters, digits and _ . - alone.');
  return { name: nameOf(name), tags: tagsOf(tags), credentials: set, properties };
}

function checkProperty(property: string, value: unknown): void {
  const shown = property.slice(0, 60);
  if ((CREDENTIAL_NAMES as readonly string[]).includes(property) || isSecretName(property))
    throw badInput(sentence`${shown}: it belongs in a credential set, not in an inventory. Name the set in credentials.`);
  if (!ENTRY_PROPERTIES.includes(property))
    throw badInput(
      sentence`${shown}: there is no such property. There are: ${ours(['name', 'tags', 'credentials', ...ENTRY_PROPERTIES].join(', '))}.`,
    );
  if (isGiven(value) && textOf(value) === undefined && typeof value !== 'boolean')
    throw badInput(sentence`${shown}: it has to be a text or a number.`);
}

/** An empty cell is none. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined;
}

function nameOf(value: unknown): string {
  const name = textOf(value);
  if (name === undefined || name === '') throw badInput('name: it is missing.');
  if (name.length > LONGEST_NAME) throw badInput(sentence`name: it is longer than ${LONGEST_NAME} characters.`);
  if (ODD_IN_NAME.test(name))
    throw badInput(
      'name: it may not hold * | or quotation marks, begin with ! or tag:, or begin or end with a space: selections use these.',
    );
  return name;
}

/** A list, or a text with spaces, commas or semicolons between them. */
function tagsOf(value: unknown): string[] {
  const given = Array.isArray(value) ? (value as unknown[]) : isGiven(value) ? (textOf(value)?.split(/[\s,;]+/) ?? [value]) : [];
  const tags = given.map(textOf);
  const odd = tags.findIndex((tag) => tag === undefined || ODD_IN_TAG.test(tag));
  if (odd >= 0) throw badInput('tags: each has to be one word, without * | ! or quotation marks.');
  return [...new Set(tags.filter((tag) => tag !== undefined && tag !== ''))] as string[];
}

function bad(words: Sentence, line?: number): GatewayError {
  return new GatewayError('BAD_CONFIG', words, { sent: false, ...(line !== undefined && { extra: { line } }) });
}
