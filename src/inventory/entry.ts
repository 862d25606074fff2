import { badInput, GatewayError } from '../model/error';
import { isObject } from '../model/json';
import { isSecretName } from '../model/secrets';
import { joinMessageParts, trusted, safeMessage, type SafeMessage } from '../model/safe-message';
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

export const DEFAULT_CREDENTIAL_SET = 'default';
export const MAX_INVENTORY_ENTRIES = 100_000;

const MAX_NAME_CHARACTERS = 200;
/** Of more faults the number is enough. */
const MAX_REPORTED_FAULTS = 5;
/** A name of a set becomes a part of a path and of a variable's name. */
const SET_NAME_PATTERN = /^[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}$/;
/** What means something in a selection, or cannot be seen. */
const INVALID_IN_NAME = /[*|"\p{Cc}]|^!|^tag:|^\s|\s$/u;
const INVALID_IN_TAG = /[\s*|"!]/;

/** One thing that is wrong, and at which entry. */
interface Fault {
  readonly index: number;
  readonly name: unknown;
  readonly reason: SafeMessage;
}

/**
 * Checks raw entries, all of them. `check` looks at the properties of one as they will be used, and throws what is wrong with them.
 * Errors: `BAD_CONFIG` with the line, the field and the reason of each fault; no value is quoted but a name.
 */
export async function readEntries(
  raw: readonly unknown[],
  checkEntry: (entry: InventoryEntry) => void,
  findLine: (index: number) => Promise<number | undefined> = () => Promise.resolve(undefined),
): Promise<InventoryEntry[]> {
  if (raw.length > MAX_INVENTORY_ENTRIES)
    throw badConfig(safeMessage`The inventory has ${raw.length} appliances; at most ${MAX_INVENTORY_ENTRIES} can be.`);
  const faults: Fault[] = [];
  const firstIndexByName = new Map<string, number>();
  const entries = raw.map((rawEntry, index) => {
    try {
      const entry = parseEntry(rawEntry);
      const earlierIndex = firstIndexByName.get(entry.name);
      if (earlierIndex !== undefined) throw badInput(safeMessage`name: an appliance further up has it too (entry ${earlierIndex + 1}).`);
      firstIndexByName.set(entry.name, index);
      checkEntry(entry);
      return entry;
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown;
      faults.push({ index, name: isObject(rawEntry) ? rawEntry.name : undefined, reason: thrown.safeMessage });
      return undefined;
    }
  });
  if (faults.length > 0) throw await createInventoryError(faults, findLine);
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
      throw badConfig(safeMessage`The defaults of the inventory cannot be used. ${thrown}`);
    }
  }
}

async function createInventoryError(
  faults: readonly Fault[],
  findLine: (index: number) => Promise<number | undefined>,
): Promise<GatewayError> {
  const lines = await Promise.all(faults.slice(0, MAX_REPORTED_FAULTS).map(({ index }) => findLine(index)));
  const reported = lines.map((line, at) => {
    const { index, name, reason } = faults[at] as Fault;
    const location = line === undefined ? safeMessage`entry ${index + 1}` : safeMessage`line ${line}`;
    const nameSuffix =
      typeof name === 'string' && name !== '' ? safeMessage` (${name.slice(0, MAX_NAME_CHARACTERS).replace(/\s+/g, ' ')})` : trusted('');
    return safeMessage`${location}${nameSuffix}: ${reason}`;
  });
  const moreSuffix = faults.length > MAX_REPORTED_FAULTS ? safeMessage` And ${faults.length - MAX_REPORTED_FAULTS} more.` : trusted('');
  const [line] = lines;
  return badConfig(safeMessage`The inventory was not taken over. ${joinMessageParts(reported, ' ')}${moreSuffix}`, line);
}

function parseEntry(raw: unknown): InventoryEntry {
  if (!isObject(raw)) throw badInput('it is no appliance: name and url are needed.');
  const { name, tags, credentials, ...rest } = raw;
  for (const [property, value] of Object.entries(rest)) checkProperty(property, value);
  const properties = Object.fromEntries(Object.entries(rest).filter(([, value]) => hasValue(value)));
  const set = hasValue(credentials) ? toText(credentials) : DEFAULT_CREDENTIAL_SET;
  if (set === undefined || !SET_NAME_PATTERN.test(set) || set.includes('..'))
    throw badInput('credentials: it has to be the name of a credential set, of letters, digits and _ . - alone.');
  return { name: parseName(name), tags: parseTags(tags), credentials: set, properties };
}

function checkProperty(property: string, value: unknown): void {
  const shortName = property.slice(0, 60);
  if ((CREDENTIAL_NAMES as readonly string[]).includes(property) || isSecretName(property))
    throw badInput(safeMessage`${shortName}: it belongs in a credential set, not in an inventory. Name the set in credentials.`);
  if (!ENTRY_PROPERTIES.includes(property))
    throw badInput(
      safeMessage`${shortName}: there is no such property. There are: ${trusted(['name', 'tags', 'credentials', ...ENTRY_PROPERTIES].join(', '))}.`,
    );
  if (hasValue(value) && toText(value) === undefined && typeof value !== 'boolean')
    throw badInput(safeMessage`${shortName}: it has to be a text or a number.`);
}

/** An empty cell is none. */
function hasValue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

function toText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined;
}

function parseName(value: unknown): string {
  const name = toText(value);
  if (name === undefined || name === '') throw badInput('name: it is missing.');
  if (name.length > MAX_NAME_CHARACTERS) throw badInput(safeMessage`name: it is longer than ${MAX_NAME_CHARACTERS} characters.`);
  if (INVALID_IN_NAME.test(name))
    throw badInput(
      'name: it may not hold * | or quotation marks, begin with ! or tag:, or begin or end with a space: selections use these.',
    );
  return name;
}

/** A list, or a text with spaces, commas or semicolons between them. */
function parseTags(value: unknown): string[] {
  const rawTags = Array.isArray(value) ? (value as unknown[]) : hasValue(value) ? (toText(value)?.split(/[\s,;]+/) ?? [value]) : [];
  const tags = rawTags.map(toText);
  const invalidIndex = tags.findIndex((tag) => tag === undefined || INVALID_IN_TAG.test(tag));
  if (invalidIndex >= 0) throw badInput('tags: each has to be one word, without * | ! or quotation marks.');
  return [...new Set(tags.filter((tag) => tag !== undefined && tag !== ''))] as string[];
}

function badConfig(errorText: SafeMessage, line?: number): GatewayError {
  return new GatewayError('BAD_CONFIG', errorText, { sent: false, ...(line !== undefined && { extra: { line } }) });
}
