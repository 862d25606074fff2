import type { JsonObject } from './json';
import type { TextFormat } from './rules';
import type { SafeMessage } from './safe-message';

/** A count, or a percentage of all items. */
export type NumberOrPercent = number | `${number}%`;

/** Selects the reader and the checks of a value; `input.ts` has one reader per kind. */
export type FieldKind =
  'text' | 'number' | 'amount' | 'boolean' | 'choice' | 'object' | 'list' | 'path' | 'records' | 'names' | 'data' | 'content';

/** Kinds of objects on an appliance that a field can name. `areas/object-lookup.ts` lists the objects of each kind. */
export type ObjectKind =
  | 'path'
  | 'auth-server'
  | 'local-server'
  | 'directory-server'
  | 'local-user'
  | 'directory-group'
  | 'admin-realm'
  | 'admin-role'
  | 'user-realm'
  | 'user-role'
  | 'session'
  | 'session-user'
  | 'session-value'
  | 'radius-client'
  | 'snmp-client'
  | 'cluster-member'
  | 'certificate'
  | 'csr'
  | 'named-user'
  | 'client-kind'
  | 'interface'
  | 'contained'
  | 'contained-name'
  | 'backup'
  | 'journal-entry'
  | 'journal-actor'
  | 'operation'
  | 'appliance';

/** One input field of an operation. The dialog, the help, the checks and the documentation are generated from it. */
export interface Field<T = unknown, R extends boolean = boolean> {
  readonly kind: FieldKind;
  readonly label: string;
  /** One sentence for the sidebar help. */
  readonly help: string;
  readonly required: R;
  /** Whether the payload itself may be the value (contract, "Where a field's value comes from"). */
  readonly subject: boolean;
  /** Guards and file paths never come from a payload: the body of a webhook must not lift a limit or name a file. */
  readonly guard: boolean;
  /** Whether an empty object is an error. An empty filter would select everything. */
  readonly filter: boolean;
  readonly secret: boolean;
  /** When the subject is an array, each item may have this field. The field is then not required here. */
  readonly perItem?: boolean;
  /** A number payload may be this subject. Other subjects ignore it, because an Inject node sends a timestamp. */
  readonly numberPayload?: boolean;
  readonly choices?: readonly string[];
  /** Other names of the field in a payload (contract, section 3). */
  readonly aliases?: readonly string[];
  /** Values that the interface is known to accept. The dialog offers them; other values are possible. */
  readonly known?: readonly string[];
  /** The kind of object that the field names. The dialog offers the existing ones. */
  readonly names?: ObjectKind;
  /** A special editor of the dialog, besides text. */
  readonly editor?: 'session-filter' | 'resource' | 'folder';
  /** The format of a text. The dialog checks it too. */
  readonly rule?: TextFormat;
  /** The range of a number; a count is a whole number of at least 1. The dialog checks it too. */
  readonly range?: 'count' | 'positive';
  readonly default?: T;
  /** Describes what is wrong with a value of the right kind; undefined when it is valid. */
  check?(value: T): string | SafeMessage | undefined;
  readonly example?: T;
}

export type Fields = Readonly<Record<string, Field>>;

/** A field with a default, so that it always has a value in the parsed input. */
type DefaultedField<T> = Field<T, false> & { readonly default: T };

type Value<F> = F extends Field<infer T> ? T : never;
type PerItem = { readonly perItem: true };
type Always = { readonly required: true } | { readonly default: unknown };
type AlwaysKeys<F extends Fields> = { [K in keyof F]: F[K] extends PerItem ? never : F[K] extends Always ? K : never }[keyof F];
type RequiredKeys<F extends Fields> = { [K in keyof F]: F[K] extends PerItem ? never : F[K]['required'] extends true ? K : never }[keyof F];

/** The checked input of an operation with its defaults, inferred from the fields. */
export type ParsedInput<F extends Fields = Fields> = { [K in AlwaysKeys<F>]: Value<F[K]> } & {
  [K in Exclude<keyof F, AlwaysKeys<F>>]?: Value<F[K]>;
};

/** Values that `parseField` accepts for a field: numbers for texts, texts for numbers and booleans, one item for a list. */
export type RawValue<T> = [T] extends [boolean]
  ? boolean | 'true' | 'false'
  : [T] extends [number]
    ? number | `${number}`
    : [T] extends [NumberOrPercent]
      ? NumberOrPercent | `${number}`
      : [T] extends [readonly (infer I)[]]
        ? readonly I[] | I
        : [T, string] extends [string, T]
          ? string | number
          : T;

/** The input of an operation before it is checked. An undefined field counts as missing. */
export type RawInput<F extends Fields = Fields> = { readonly [K in RequiredKeys<F>]: RawValue<Value<F[K]>> } & {
  readonly [K in Exclude<keyof F, RequiredKeys<F>>]?: RawValue<Value<F[K]>> | undefined;
};

type FieldOptions<T> = Partial<Omit<Field<T>, 'kind' | 'label' | 'help' | 'required'>>;
const FIELD_DEFAULTS = { required: false, subject: false, guard: false, filter: false, secret: false } as const;

interface FieldFactory<T> {
  (label: string, help: string, options: FieldOptions<T> & { readonly default: T }): DefaultedField<T>;
  (label: string, help: string, options?: FieldOptions<T>): Field<T, false>;
}

function createFieldFactory<T>(kind: FieldKind): FieldFactory<T> {
  const make = (label: string, help: string, options: FieldOptions<T> = {}): Field<T, false> => ({
    ...FIELD_DEFAULTS,
    kind,
    label,
    help,
    ...options,
    required: false,
  });
  return make as FieldFactory<T>;
}

/** Marks a field as required. */
export function requiredField<T>(optionalField: Field<T>): Field<T, true> {
  return { ...optionalField, required: true };
}

/** Marks the field that the whole payload can fill, which is bold in the contract's table. */
export function payloadField<F extends Field>(field: F): F {
  return { ...field, subject: true };
}

export const textField = createFieldFactory<string>('text');
export const numberField = createFieldFactory<number>('number');
/** A number, or a percentage such as `10%` as text. */
export const amountField = createFieldFactory<NumberOrPercent>('amount');
export const booleanField = createFieldFactory<boolean>('boolean');
export const objectField = createFieldFactory<JsonObject>('object');
/** An array of texts. A single text is accepted too. */
export const listField = createFieldFactory<string[]>('list');
/** Text, an href or an array of raw segments; see `toConfigurationPath`. */
export const pathField = createFieldFactory<string | string[]>('path');
/** Texts or objects: one or an array of them. A single value stays single. */
export const recordsField = createFieldFactory<string | JsonObject | (string | JsonObject)[]>('records');
/** Like `recordsField`, but a text is a name, which may also be a number. */
export const nameListField = createFieldFactory<string | JsonObject | (string | JsonObject)[]>('names');
/** Any request body: an object, text, or a Buffer. */
export const contentField = createFieldFactory<JsonObject | string | Buffer>('content');
/** A Buffer, or text that becomes one. */
export const dataField = createFieldFactory<Buffer | string>('data');

export function choiceField<const C extends string>(
  label: string,
  help: string,
  choices: readonly C[],
  options: FieldOptions<C> & { readonly default: C },
): DefaultedField<C>;
export function choiceField<const C extends string>(
  label: string,
  help: string,
  choices: readonly C[],
  options?: FieldOptions<C>,
): Field<C, false>;
export function choiceField<C extends string>(
  label: string,
  help: string,
  choices: readonly C[],
  options: FieldOptions<C> = {},
): Field<C, false> {
  return { ...FIELD_DEFAULTS, kind: 'choice', label, help, choices, ...options, required: false };
}
