import type { Many, ManyItem, WriteResult } from './envelope';
import type { GatewayError } from './error';
import type { JsonObject } from './json';
import type { Request } from './request';
import type { Download, Upload } from './stream';
import type { Cancellable } from './cancelling';
import type { ExclusiveOptions } from './coordination';

/** What an operation does to the appliance: `destroy` ends, removes or replaces something that users work with. */
export type Effect = 'read' | 'write' | 'destroy';

/** How a value is read and checked; `input.ts` has one reader for each kind. */
export type Kind = 'text' | 'number' | 'boolean' | 'choice' | 'object' | 'list' | 'path' | 'records' | 'data';

/** One input field of an operation: everything that dialog, help, checks and README need to know about it. */
export interface Field<T = unknown, R extends boolean = boolean> {
  readonly kind: Kind;
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
  /** A subject that a number payload may be; elsewhere an Inject node's timestamp must not become one. */
  readonly numberPayload?: boolean;
  readonly choices?: readonly string[];
  /** What a number may be; a count is whole and at least 1. The dialog checks it too. */
  readonly range?: 'count' | 'positive';
  readonly default?: T;
  /** In words what is wrong with a value of the right kind, or undefined. */
  check?(value: T): string | undefined;
  readonly example?: T;
}

export type Fields = Readonly<Record<string, Field>>;

type Value<F> = F extends Field<infer T> ? T : never;
type RequiredKeys<F extends Fields> = { [K in keyof F]: F[K]['required'] extends true ? K : never }[keyof F];

/** The typed input of an operation, inferred from its fields. */
export type Input<F extends Fields = Fields> = { [K in RequiredKeys<F>]: Value<F[K]> } & {
  [K in Exclude<keyof F, RequiredKeys<F>>]?: Value<F[K]>;
};

export type LoginState = { state: 'ready' } | { state: 'pending'; resumeId: string } | { state: 'none' };

/** How far a long operation is: it waits for another one, or so many bytes of a transfer are through. */
export type Advance = { readonly state: 'waiting' } | { readonly state: 'moving'; readonly bytes: number; readonly total?: number };

export interface ReadOptions {
  /** Ends it in place of the call's own signal. */
  readonly signal?: Cancellable | undefined;
  /** It only has to be known first: the envelope does not tell of it as the request of the operation. */
  readonly lookUp?: boolean;
}

/** What an operation that needs more than one exchange works with. Writes become a plan in a dry run. */
export interface Call {
  /** Reads a document: JSON of a 2xx, checked to be an object. */
  read(request: Request, options?: ReadOptions): Promise<JsonObject>;
  /** Sends a write and reads its result envelope; in a dry run plans it. */
  write(request: Request): Promise<WriteResult>;
  /** One write per item, on all connections at once, results in order; an item that fails does not stop the others. */
  each<T>(items: readonly T[], request: (item: T) => Request, shown: (item: T) => unknown): Promise<Many>;
  /** The same where an item takes more than one exchange: `work` gets a call of its own for each. */
  eachBy<T>(items: readonly T[], work: (item: T, call: Call) => Promise<unknown>, shown: (item: T) => unknown): Promise<Many>;
  /** Results that were had in another way, as data of an operation on many; `failures` by index. Errors: the first, when all failed. */
  gather(results: ManyItem[], failures: ReadonlyMap<number, GatewayError>): Many;
  /** The result of a write that found everything as it should be and sends nothing. */
  unchanged(): WriteResult;
  /** Adds fields of the operation's own to the envelope. */
  note(fields: Record<string, unknown>): void;
  /** Announces that the data goes out in parts. Errors: `BAD_INPUT` when nobody takes them; nothing was sent. */
  stream(): void;
  /** Sends out one part of a read that streams. */
  emit(data: unknown, part: { index: number; count?: number }): void;
  /** A read whose answer streams into what `open` makes, anew for every try; gives what its `finish` gives. */
  download<T>(request: Request, open: () => Promise<Download<T>>): Promise<T>;
  /** A write whose body streams, opened anew for a replay; a dry run plans it with the body that is `shown`. */
  upload(request: Request, shown: JsonObject, open: () => Promise<Upload>): Promise<WriteResult>;
  /** Tells whoever watches how far it is. */
  report(progress: Advance): void;
  /**
   * Runs `work` while nobody else runs any of that name at this appliance, first come, first served; a plan waits for nobody.
   * Errors: `ABORTED` when this call is cancelled before its work begins; nothing of it was sent.
   */
  exclusive<T>(name: string, work: () => Promise<T>, options?: Pick<ExclusiveOptions, 'onWait' | 'cancelled'>): Promise<T>;
  /** A fact about the appliance that is found out once and then kept. */
  once(fact: string, find: () => Promise<string>): Promise<string>;
  /** The key's own operations, for `gateway-login`. */
  readonly login: {
    start(): Promise<LoginState>;
    resume(code: string, resumeId: string | undefined): Promise<LoginState>;
    forget(): LoginState;
  };
  /** `base` is the base URL without a trailing slash, `name` that of the appliance. */
  readonly settings: {
    readonly name: string;
    readonly vendor: string;
    readonly brand: string;
    readonly connections: number;
    readonly base: string;
  };
  readonly dryRun: boolean;
  readonly signal: AbortSignal | undefined;
}

/** One row of the contract's table of operations. Either `request` (one exchange) or `run` (several). */
export interface Operation<F extends Fields = Fields> {
  readonly effect: Effect;
  readonly label: string;
  /** First sentence of the help: what it does, and what comes out. */
  readonly help: string;
  /** What `msg.payload` holds afterwards, for help and README. */
  readonly data: string;
  readonly fields: F;
  /** Pure: the same input gives the same request. `prefix` is the path of the base URL, which an href in the input may carry. */
  readonly request?: (input: Input<F>, prefix: string) => Request;
  /** Pure: what a read gives to the flow; absent = the document as it is. */
  readonly read?: (document: JsonObject, input: Input<F>, note: Call['note']) => unknown;
  readonly run?: (input: Input<F>, call: Call) => Promise<unknown>;
  /** Input of a typical call and the first request that it makes: golden line of the contract test and of the help. */
  readonly example: { readonly input: Record<string, unknown>; readonly request: string; readonly body?: JsonObject };
}

/** One node type: its operations under the contract's names. */
export interface Area {
  /** Short name: `sessions` of `gateway-sessions`. */
  readonly name: string;
  readonly label: string;
  readonly help: string;
  readonly icon: string;
  readonly color: string;
  /** False where a plan would say nothing, as for a login. */
  readonly dryRun?: false;
  readonly operations: Readonly<Record<string, Operation>>;
}

/** Checks one operation's types; fields are inferred, so that `request` knows what it gets. */
export function op<const F extends Fields>(operation: Operation<F>): Operation {
  // The registry holds operations of every shape; the input was checked against `fields` before `request` sees it.
  return operation as unknown as Operation;
}

export function area(definition: Area): Area {
  return definition;
}

type Options<T> = Partial<Omit<Field<T>, 'kind' | 'label' | 'help' | 'required'>>;
const plain = { required: false, subject: false, guard: false, filter: false, secret: false } as const;

function field<T>(kind: Kind) {
  return (label: string, help: string, options: Options<T> = {}): Field<T, false> => ({
    ...plain,
    kind,
    label,
    help,
    ...options,
    required: false,
  });
}

/** Marks a field as required. */
export function required<T>(optional: Field<T>): Field<T, true> {
  return { ...optional, required: true };
}

/** The bold field of the contract's table. */
export function subject<F extends Field>(of: F): F {
  return { ...of, subject: true };
}

export const text = field<string>('text');
export const number = field<number>('number');
export const boolean = field<boolean>('boolean');
export const object = field<JsonObject>('object');
/** Array of texts; a single one is accepted too. */
export const list = field<string[]>('list');
/** Text, href or array of raw segments; see `configurationPath`. */
export const path = field<string | string[]>('path');
/** Texts or objects, one or an array of them. What is single stays single. */
export const records = field<string | JsonObject | (string | JsonObject)[]>('records');
/** A Buffer, or text that is one. */
export const data = field<Buffer | string>('data');

export function choice<const C extends string>(
  label: string,
  help: string,
  choices: readonly C[],
  options: Options<C> = {},
): Field<C, false> {
  return { ...plain, kind: 'choice', label, help, choices, ...options, required: false };
}
