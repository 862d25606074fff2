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
  namesField,
  numberField,
  objectField,
  pathField,
  recordsField,
  requiredField,
  subjectField,
  textField,
  type Amount,
  type Field,
  type Fields,
  type RawInput,
  type ParsedInput,
} from './field';

/** What an operation does to the appliance: `destroy` ends, removes or replaces something that users work with. */
export type Effect = 'read' | 'write' | 'destroy';

/** One row of the contract's table of operations. Either `request` (one exchange) or `run` (several). */
export interface Operation<F extends Fields = Fields, D = unknown, E extends Effect = Effect> {
  readonly effect: E;
  readonly label: string;
  /** First sentence of the help: what it does, and what comes out. */
  readonly help: string;
  /** What `msg.envelope.summary` says, where label and counts alone would read oddly. */
  readonly summary?: SummaryTexts;
  /** What `msg.payload` holds afterwards, for help and README. */
  readonly data: string;
  /** Type of data that goes on to whoever asked by HTTP as it is. */
  readonly contentType?: string;
  readonly fields: F;
  /** Pure: the same input gives the same request. `prefix` is the path of the base URL, which an href in the input may carry. */
  request?(input: ParsedInput<F>, prefix: string): Request;
  /** Pure: what a read gives to the flow; absent = the document as it is. */
  read?(document: JsonObject, input: ParsedInput<F>, note: OperationContext['addToEnvelope']): D;
  run?(input: ParsedInput<F>, call: OperationContext): Promise<D>;
  /** Pure: what the data of several appliances are together, where that is more than a list of them. */
  aggregate?(data: readonly unknown[]): unknown;
  /** Input of a typical call and the first request that it makes: golden line of the contract test and of the help. */
  readonly example: { readonly input: Record<string, unknown>; readonly request: string; readonly body?: JsonObject };
}

export type Operations = Readonly<Record<string, Operation>>;

/** One node type: its operations under the contract's names. */
export interface Area<N extends string = string, O extends Operations = Operations> {
  /** Short name: `sessions` of `gateway-sessions`. */
  readonly name: N;
  readonly label: string;
  readonly help: string;
  readonly icon: string;
  readonly color: string;
  /** What happens by itself, without a message, goes out by an output of its own; looked for every so many seconds. */
  readonly events?: { readonly every: number };
  /** False where a plan would say nothing, as for a login. */
  readonly dryRun?: false;
  readonly operations: O;
}

/** Stands for the data of an operation that says nothing of it: a read gives the document as it is, a write its result. */
interface DefaultData {
  readonly usual: never;
}
type DataOrDefault<D, E extends Effect> = [D] extends [DefaultData] ? (E extends 'read' ? JsonObject : WriteResult) : D;

/** Keeps the types of one operation: its fields, from which the input follows, and its data. */
export function defineOperation<const F extends Fields, const E extends Effect, D = DefaultData>(
  operation: Operation<F, D, E>,
): Operation<F, DataOrDefault<NoInfer<D>, E>, E> {
  return operation as Operation<F, DataOrDefault<NoInfer<D>, E>, E>;
}

export function defineArea<const N extends string, const O extends Operations>(definition: Area<N, O>): Area<N, O> {
  return definition;
}
