import { badInput, GatewayError } from '../model/error';
import { isObject } from '../model/json';
import { isSecretName } from '../model/secrets';
import { joinMessageParts, trusted, safeMessage, type SafeMessage } from '../model/safe-message';
import { CREDENTIAL_NAMES, SETTING_KINDS } from '../model/setting-kinds';
import { forEachInTimeSlices } from './time-slices';

/** One appliance of an inventory. */
export interface InventoryEntry {
  readonly name: string;
  readonly tags: readonly string[];
  /** The name of the credential set for the login. */
  readonly credentials: string;
  /** The entry's own properties, such as `url`. Missing ones come from the defaults. */
  readonly properties: Readonly<Record<string, unknown>>;
}

/** The properties of an entry in addition to name, tags and credentials. A whole inventory rehearses, not an entry. */
export const INVENTORY_ENTRY_PROPERTIES: readonly string[] = [...Object.keys(SETTING_KINDS), 'tls', 'proxy'].filter(
  (name) => name !== 'name' && name !== 'rehearsal',
);

export const DEFAULT_CREDENTIAL_SET = 'default';
export const MAX_INVENTORY_ENTRIES = 100_000;

const MAX_NAME_CHARACTERS = 200;
/** Maximum number of faults in an error. Further faults are only counted. */
const MAX_REPORTED_FAULTS = 5;
/** Matches valid names of credential sets, which become part of a path and of a variable name. */
const SET_NAME_PATTERN = /^[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}$/;
/** Characters that have a meaning in a selection or are invisible. */
const INVALID_IN_NAME = /[*|"\p{Cc}]|^!|^tag:|^\s|\s$/u;
const INVALID_IN_TAG = /[\s*|"!]/;

/** A fault of one entry. */
interface Fault {
  readonly index: number;
  readonly name: unknown;
  readonly reason: SafeMessage;
}

/**
 * Checks all raw entries. `checkEntry` checks the resulting settings of one and throws a `GatewayError`. Errors: `BAD_CONFIG` with the
 * line, field and reason of each fault. It quotes names, but no other value, because a value may be a secret.
 */
export async function readInventoryEntries(
  raw: readonly unknown[],
  checkEntry: (entry: InventoryEntry) => void,
  findLine: (index: number) => Promise<number | undefined> = () => Promise.resolve(undefined),
): Promise<InventoryEntry[]> {
  if (raw.length > MAX_INVENTORY_ENTRIES)
    throw badConfig(safeMessage`The inventory has ${raw.length} appliances; the maximum is ${MAX_INVENTORY_ENTRIES}.`);
  const faults: Fault[] = [];
  const firstIndexByName = new Map<string, number>();
  const entries: InventoryEntry[] = [];
  await forEachInTimeSlices(raw, (rawEntry, index) => {
    try {
      const entry = parseEntry(rawEntry);
      const earlierIndex = firstIndexByName.get(entry.name);
      if (earlierIndex !== undefined) throw badInput(safeMessage`name: entry ${earlierIndex + 1} has the same name.`);
      firstIndexByName.set(entry.name, index);
      checkEntry(entry);
      entries.push(entry);
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown;
      faults.push({ index, name: isObject(rawEntry) ? rawEntry.name : undefined, reason: thrown.safeMessage });
    }
  });
  if (faults.length > 0) throw await createInventoryError(faults, findLine);
  return entries;
}

/** Checks the defaults of an inventory. Scripts may set `tls` and `proxy` to objects. Errors: `BAD_CONFIG`. */
export function checkInventoryDefaults(defaults: Readonly<Record<string, unknown>>): void {
  for (const [property, value] of Object.entries(defaults)) {
    try {
      if (property === 'name') throw badInput('name: it cannot be a default, because each appliance needs its own name.');
      checkProperty(property, property === 'tls' || property === 'proxy' ? '' : value);
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown;
      throw badConfig(safeMessage`The defaults of the inventory are invalid. ${thrown}`);
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
  return badConfig(safeMessage`The inventory was not loaded. ${joinMessageParts(reported, ' ')}${moreSuffix}`, line);
}

function parseEntry(raw: unknown): InventoryEntry {
  if (!isObject(raw)) throw badInput('it is not an appliance. An appliance is an object with name and url.');
  const { name, tags, credentials, ...rest } = raw;
  const properties: Record<string, unknown> = {};
  for (const [property, value] of Object.entries(rest)) {
    // An unknown property such as `__proto__` is an error.
    checkProperty(property, value);
    if (hasValue(value)) properties[property] = value;
  }
  const set = hasValue(credentials) ? toText(credentials) : DEFAULT_CREDENTIAL_SET;
  if (set === undefined || !SET_NAME_PATTERN.test(set) || set.includes('..'))
    throw badInput('credentials: it must be the name of a credential set, with only letters, digits, spaces and _ . -.');
  return { name: parseName(name), tags: parseTags(tags), credentials: set, properties };
}

function checkProperty(property: string, value: unknown): void {
  const shortName = property.slice(0, 60);
  if ((CREDENTIAL_NAMES as readonly string[]).includes(property) || isSecretName(property))
    throw badInput(
      safeMessage`${shortName}: it belongs in a credential set, not in the inventory. Enter the name of the set in credentials.`,
    );
  if (!INVENTORY_ENTRY_PROPERTIES.includes(property))
    throw badInput(
      safeMessage`${shortName}: unknown property. Use ${trusted(['name', 'tags', 'credentials', ...INVENTORY_ENTRY_PROPERTIES].join(', '))}.`,
    );
  if (hasValue(value) && toText(value) === undefined && typeof value !== 'boolean')
    throw badInput(safeMessage`${shortName}: it must be a text or a number.`);
}

/** An empty cell counts as a missing value. */
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
      'name: it must not contain * | or quotation marks, start with ! or tag:, or start or end with a space, because selections use these.',
    );
  return name;
}

/** Tags are an array, or a text separated by spaces, commas or semicolons. */
function parseTags(value: unknown): string[] {
  const rawTags = Array.isArray(value) ? (value as unknown[]) : hasValue(value) ? (toText(value)?.split(/[\s,;]+/) ?? [value]) : [];
  const tags = rawTags.map(toText);
  const invalidIndex = tags.findIndex((tag) => tag === undefined || INVALID_IN_TAG.test(tag));
  if (invalidIndex >= 0) throw badInput('tags: each tag must be one word without * | ! or quotation marks.');
  return [...new Set(tags.filter((tag) => tag !== undefined && tag !== ''))] as string[];
}

function badConfig(errorText: SafeMessage, line?: number): GatewayError {
  return new GatewayError('BAD_CONFIG', errorText, { sent: false, ...(line !== undefined && { extra: { line } }) });
}
