import type { OperationContext } from './operation-context';
import type { WriteResult } from './envelope';
import type { Fields, ParsedInput } from './field';
import type { JsonObject } from './json';
import type { Request } from './request';
import type { SummaryTexts } from './summary-texts';

export type { Progress, OperationContext, LoginState, ReadOptions } from './operation-context';
export {
  amountField,
  booleanField,
  choiceField,
  contentField,
  dataField,
  listField,
  nameListField,
  numberField,
  objectField,
  pathField,
  recordsField,
  requiredField,
  payloadField,
  textField,
  type NumberOrPercent,
  type Field,
  type Fields,
  type RawInput,
  type ParsedInput,
} from './field';

/** The effect of an operation on the appliance: `destroy` ends, removes or replaces something that users work with. */
export type OperationEffect = 'read' | 'write' | 'destroy';

/** One row of the contract's table of operations. It has either `request` (one exchange) or `run` (several). */
export interface Operation<F extends Fields = Fields, D = unknown, E extends OperationEffect = OperationEffect> {
  readonly effect: E;
  readonly label: string;
  /** First sentence of the help: what the operation does and returns. */
  readonly help: string;
  /** Text of `msg.envelope.summary`, when label and counts alone read oddly. */
  readonly summary?: SummaryTexts;
  /** Pure: further values for `summary` that follow from the input. They are masked like the input. */
  summaryValues?(input: ParsedInput<F>): Readonly<Record<string, string | undefined>>;
  /** Describes `msg.payload` after the run, for help and documentation. */
  readonly data: string;
  /** The result is a report that people send to others. Secrets of the settings are masked in it, as in the result of a write. */
  readonly isReport?: true;
  /** Content type of data that an HTTP response can send unchanged. */
  readonly contentType?: string;
  readonly fields: F;
  /** Pure: the same input gives the same request. `prefix` is the path of the base URL, which an href in the input may contain. */
  request?(input: ParsedInput<F>, prefix: string): Request;
  /** Pure: converts the document of a read to the data. Without it, the data is the document. */
  read?(document: JsonObject, input: ParsedInput<F>, note: OperationContext['addToEnvelope']): D;
  run?(input: ParsedInput<F>, call: OperationContext): Promise<D>;
  /** Pure: merges the data of several appliances, when a list of them is not enough. */
  aggregate?(data: readonly unknown[]): unknown;
  /** What the account must be allowed to read and write, if effect and example do not show it. Markdown for the page of permissions. */
  readonly permissions?: { readonly reads?: string; readonly writes?: string };
  /** A typical input and the first request it makes. The contract test and the help use it. */
  readonly example: { readonly input: Record<string, unknown>; readonly request: string; readonly body?: JsonObject };
}

export type Operations = Readonly<Record<string, Operation>>;

/** One node type and its operations, under the contract's names. */
export interface Area<N extends string = string, O extends Operations = Operations> {
  /** Short name: `sessions` of `gateway-sessions`. */
  readonly name: N;
  readonly label: string;
  readonly help: string;
  readonly icon: string;
  readonly color: string;
  /** The node has an extra output for events without a message, and polls every `every` seconds. */
  readonly events?: { readonly every: number };
  /** Whether the node offers a dry run. For a login, a plan would be empty. */
  readonly dryRun?: false;
  readonly operations: O;
}

/** Marks an operation that does not declare its data type: a read returns the document, a write its result. */
interface DefaultData {
  readonly usual: never;
}
type DataOrDefault<D, Default> = [D] extends [DefaultData] ? Default : D;
/** An index keeps the compiler from inferring `D` from the type of the result. */
interface DataByEffect<D> {
  readonly read: DataOrDefault<D, JsonObject>;
  readonly write: DataOrDefault<D, WriteResult>;
  readonly destroy: DataOrDefault<D, WriteResult>;
}

/** Keeps the types of one operation: its fields, from which the input follows, and its data. */
export function defineOperation<const F extends Fields, const E extends OperationEffect, D = DefaultData>(
  operation: Operation<F, D, E>,
): Operation<F, DataByEffect<D>[E], E> {
  return operation as Operation<F, DataByEffect<D>[E], E>;
}

export function defineArea<const N extends string, const O extends Operations>(definition: Area<N, O>): Area<N, O> {
  return definition;
}
