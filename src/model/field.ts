import type { JsonObject } from './json';
import type { TextRule } from './rules';
import type { SafeMessage } from './safe-message';

/** A count, or a share of all. */
export type Amount = number | `${number}%`;

/** How a value is read and checked; `input.ts` has one reader for each kind. */
export type FieldKind =
  'text' | 'number' | 'amount' | 'boolean' | 'choice' | 'object' | 'list' | 'path' | 'records' | 'names' | 'data' | 'content';

/** Kinds of what an appliance holds and a field can name; `areas/catalogue.ts` has the list of each. */
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

/** One input field of an operation: everything that dialog, help, checks and README need to know about it. */
export interface Field<T = unknown, R extends boolean = boolean> {
  readonly kind: FieldKind;
  readonly label: string;
  /** One sentence for the sidebar help. */
  readonly help: string;
  readonly required: R;
  /** The subject may also be the payload itself (contract, "Where a field's value comes from"). */
  readonly subject: boolean;
  /** Guards and places never come from a payload: a webhook's body must not lift a cap or name a file. */
  readonly guard: boolean;
  /** Filters: given but empty is an error, because what it would have narrowed becomes wider. */
  readonly filter: boolean;
  readonly secret: boolean;
  /** Where the subject is an array, each of its items may have this field; then it is not required here. */
  readonly perItem?: boolean;
  /** A subject that a number payload may be; elsewhere an Inject node's timestamp must not become one. */
  readonly numberPayload?: boolean;
  readonly choices?: readonly string[];
  /** Values that the interface is known to take, where it may take others too: the dialog offers them. */
  readonly known?: readonly string[];
  /** What it names on the appliance: the dialog offers what is there. */
  readonly names?: ObjectKind;
  /** What the dialog has of its own for it, beside text. */
  readonly editor?: 'session-filter' | 'resource';
  /** What a text has to be; the dialog checks it too. */
  readonly rule?: TextRule;
  /** What a number may be; a count is whole and at least 1. The dialog checks it too. */
  readonly range?: 'count' | 'positive';
  readonly default?: T;
  /** In words what is wrong with a value of the right kind, or undefined. */
  check?(value: T): string | SafeMessage | undefined;
  readonly example?: T;
}

export type Fields = Readonly<Record<string, Field>>;

/** A field that is never missing in the input, because it has a value where none is given. */
export type DefaultedField<T> = Field<T, false> & { readonly default: T };

type Value<F> = F extends Field<infer T> ? T : never;
type PerItem = { readonly perItem: true };
type Always = { readonly required: true } | { readonly default: unknown };
type AlwaysKeys<F extends Fields> = { [K in keyof F]: F[K] extends PerItem ? never : F[K] extends Always ? K : never }[keyof F];
type RequiredKeys<F extends Fields> = { [K in keyof F]: F[K] extends PerItem ? never : F[K]['required'] extends true ? K : never }[keyof F];

/** The input of an operation as it gets it: read, checked, defaults filled in. Inferred from its fields. */
export type ParsedInput<F extends Fields = Fields> = { [K in AlwaysKeys<F>]: Value<F[K]> } & {
  [K in Exclude<keyof F, AlwaysKeys<F>>]?: Value<F[K]>;
};

/** What may be given for a value: numbers for texts, texts for numbers and booleans, one item for a list. `readField` knows the rest. */
export type RawValue<T> = [T] extends [boolean]
  ? boolean | 'true' | 'false'
  : [T] extends [number]
    ? number | `${number}`
    : [T] extends [Amount]
      ? Amount | `${number}`
      : [T] extends [readonly (infer I)[]]
        ? readonly I[] | I
        : [T, string] extends [string, T]
          ? string | number
          : T;

/** The input of an operation as it is given. A field that is undefined counts as not given. */
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

/** The bold field of the contract's table. */
export function subjectField<F extends Field>(field: F): F {
  return { ...field, subject: true };
}

export const textField = createFieldFactory<string>('text');
export const numberField = createFieldFactory<number>('number');
/** A number, or text such as `10%`: a share of all that there are. */
export const amountField = createFieldFactory<Amount>('amount');
export const booleanField = createFieldFactory<boolean>('boolean');
export const objectField = createFieldFactory<JsonObject>('object');
/** Array of texts; a single one is accepted too. */
export const listField = createFieldFactory<string[]>('list');
/** Text, href or array of raw segments; see `configurationPath`. */
export const pathField = createFieldFactory<string | string[]>('path');
/** Texts or objects, one or an array of them. What is single stays single. */
export const recordsField = createFieldFactory<string | JsonObject | (string | JsonObject)[]>('records');
/** The same where a text is a name, which may be a number too. */
export const namesField = createFieldFactory<string | JsonObject | (string | JsonObject)[]>('names');
/** Whatever can be a body: an object, text, or a Buffer. */
export const contentField = createFieldFactory<JsonObject | string | Buffer>('content');
/** A Buffer, or text that is one. */
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
