import { badInput } from './error';
import type { Field, Fields, ParsedInput, Operation } from './operation';
import { isNumberOutOfRange, matchesTextFormat, parsePercentage, type TextFormat } from './rules';
import { trusted, safeMessage, type SafeMessage } from './safe-message';
import { isObject, describeValueKind, type JsonObject } from './json';

type FieldReader = (value: unknown, name: string, field: Field) => unknown;

const fieldReaders: Record<Field['kind'], FieldReader> = {
  text: (value, name) => {
    if (typeof value === 'string') return value;
    if (Number.isFinite(value)) return String(value);
    throw wrongKindError(name, 'text', value);
  },
  number: (value, name, field) => {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (Number.isFinite(number)) return number;
    throw wrongKindError(name, field.kind === 'amount' ? 'a number, or a share such as 10%, of at most 100%' : 'a number', value);
  },
  amount: (value, name, field) => {
    const share = typeof value === 'string' ? parsePercentage(value) : undefined;
    return share === undefined ? fieldReaders.number(value, name, field) : `${share}%`;
  },
  boolean: (value, name) => {
    // Some appliances write `True`, so a value that was read can be written back.
    if (value === true || value === 'true' || value === 'True' || value === 1 || value === '1') return true;
    if (value === false || value === 'false' || value === 'False' || value === 0 || value === '0') return false;
    throw wrongKindError(name, 'true or false', value);
  },
  choice: (value, name, field) => {
    const choices = field.choices ?? [];
    if (typeof value === 'string' && choices.includes(value)) return value;
    const actual = typeof value === 'string' ? JSON.stringify(value) : trusted(describeValueKind(value));
    throw badInput(safeMessage`${trusted(name)} must be one of ${trusted(choices.join(', '))}, not ${actual}.`);
  },
  object: (value, name) => {
    if (isObject(value)) return value;
    throw wrongKindError(name, 'an object', value);
  },
  list: (value, name) => {
    const items: unknown[] = Array.isArray(value) ? value : [value];
    return items.map((item, index) => {
      if (typeof item === 'string' && item !== '') return item;
      if (Number.isFinite(item)) return String(item);
      throw wrongKindError(Array.isArray(value) ? `${name}[${index}]` : name, 'text', item);
    });
  },
  path: (value, name, field) => {
    if (Array.isArray(value)) return value as unknown[];
    return fieldReaders.text(value, name, field);
  },
  records: (value, name) => {
    const items: unknown[] = Array.isArray(value) ? value : [value];
    items.forEach((item, index) => {
      if (!isObject(item) && !(typeof item === 'string' && item !== '')) {
        throw wrongKindError(Array.isArray(value) ? `${name}[${index}]` : name, 'text or an object', item);
      }
    });
    return value;
  },
  names: (value, name, field) => {
    const toName = (item: unknown): unknown => (Number.isFinite(item) ? String(item) : item);
    return fieldReaders.records(Array.isArray(value) ? value.map(toName) : toName(value), name, field);
  },
  content: (value, name) => {
    if (isObject(value) || Buffer.isBuffer(value) || typeof value === 'string') return value;
    throw wrongKindError(name, 'an object, text or a Buffer', value);
  },
  data: (value, name) => {
    if (Buffer.isBuffer(value) || typeof value === 'string') return value;
    throw wrongKindError(name, 'a Buffer or text', value);
  },
};

/**
 * Reads and checks the input of an operation. Undefined fields count as missing; defaults are filled in. Errors: `BAD_INPUT` naming the
 * field, the expected kind and the actual one; nothing was sent.
 */
export function parseInput(operation: Operation, raw: Readonly<Record<string, unknown>>): ParsedInput {
  if (!isObject(raw))
    throw badInput(safeMessage`The input must be an object with the fields of the operation, not ${trusted(describeValueKind(raw))}.`);
  const input: Record<string, unknown> = {};
  const { fields } = operation;
  for (const name in raw) {
    if (Object.hasOwn(raw, name) && !Object.hasOwn(fields, name) && raw[name] !== undefined) {
      throw badInput(
        safeMessage`${name} is not a field of this operation. Its fields are: ${trusted(Object.keys(fields).join(', ') || 'none')}.`,
        { statusReason: 'unknown-field' },
      );
    }
  }
  const subject = findSubject(fields);
  const hasSubjectList = subject !== undefined && Array.isArray(raw[subject]);
  for (const name in fields) {
    const value = raw[name];
    const field = fields[name];
    if (field === undefined) continue;
    if (value === undefined || value === null) {
      if ((field.required && !(field.perItem && hasSubjectList)) || (field.filter && value === null))
        throw badInput(safeMessage`${trusted(name)} (${trusted(field.label)}) is missing.`, { missing: { name, label: field.label } });
      if (field.default !== undefined) input[name] = field.default;
      continue;
    }
    input[name] = parseField(name, field, value);
  }
  return input;
}

function findSubject(fields: Fields): string | undefined {
  for (const name in fields) if (fields[name]?.subject) return name;
  return undefined;
}

/** Parses one value by its field. The nodes use it too, to report a bad value before the run starts. */
export function parseField(name: string, field: Field, value: unknown): unknown {
  if (isNestedDeeper(value, MAX_INPUT_DEPTH))
    throw badInput(
      safeMessage`${trusted(name)} (${trusted(field.label)}) cannot be sent as JSON: it is nested more than ${MAX_INPUT_DEPTH} levels deep, or contains itself. Nothing was sent.`,
    );
  // Only an optional text of the resource may be empty: that clears it.
  if (value === '' && (field.required || field.filter || field.kind !== 'text'))
    throw badInput(safeMessage`${trusted(name)} (${trusted(field.label)}) is empty.`);
  const parsed = fieldReaders[field.kind](value, name, field);
  const complaint = rangeComplaint(field, parsed) ?? ruleComplaint(field, parsed) ?? field.check?.(parsed);
  if (complaint !== undefined)
    throw badInput(safeMessage`${trusted(name)} ${typeof complaint === 'string' ? trusted(complaint) : complaint}`);
  return parsed;
}

/** Maximum nesting. Deeper values overflow the stack of code that copies or compares them; no document of an appliance is nearly as deep. */
const MAX_INPUT_DEPTH = 200;

/** Whether a value has more than `levels` levels of objects and arrays. A circular value has. */
function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return false;
  if (levels === 0) return true;
  for (const name in value) if (Object.hasOwn(value, name) && isNestedDeeper((value as JsonObject)[name], levels - 1)) return true;
  return false;
}

function rangeComplaint({ range }: Field, value: unknown): string | undefined {
  // A percentage has no range.
  if (typeof value === 'string' || !isNumberOutOfRange(range, value)) return undefined;
  return range === 'count' ? 'must be a whole number of at least 1.' : 'must be more than 0.';
}

const EXPECTED_BY_RULE: Readonly<Record<TextFormat, string>> = {
  ipv4: 'an IPv4 address such as 192.0.2.10',
  netmask: 'a netmask such as 255.255.255.0',
  address: 'an address such as 198.51.100.0 or 2001:db8::1',
  host: 'an address or the name of a host, such as 192.0.2.10 or vpn.example.com',
  mask: 'a netmask such as 255.255.255.0, or the length of a network such as 64',
  amount: 'a whole number of at least 1, or a share such as 10%',
};

function ruleComplaint({ rule }: Field, value: unknown): SafeMessage | undefined {
  if (rule === undefined || typeof value !== 'string' || matchesTextFormat(rule, value)) return undefined;
  return safeMessage`must be ${trusted(EXPECTED_BY_RULE[rule])}, not ${JSON.stringify(value)}.`;
}

function wrongKindError(name: string, expected: string, actual: unknown): Error {
  return badInput(safeMessage`${trusted(name)} must be ${trusted(expected)}, not ${trusted(describeValueKind(actual))}.`);
}
