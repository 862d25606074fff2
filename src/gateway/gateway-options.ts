import type { OperationInput, OperationName } from '../areas';
import type { ExchangeLogEntry } from '../http/exchange-log';
import type { Initiator } from '../journal/record-writes';
import type { HostInfo } from '../model/operation-context';
import type { AbortSignalLike } from '../model/abort';
import type { Coordination } from '../model/coordination';
import type { Envelope, BulkResult } from '../model/envelope';
import type { Progress } from '../model/operation';
import type { SafeMessage } from '../model/safe-message';
import type { Translate } from '../model/summary';
import type { RequestApproval } from '../run/approval';

export interface RunOptions {
  /** An `AbortSignal` or a compatible object. */
  signal?: AbortSignalLike | undefined;
  /** Plan writes instead of sending them. False does not switch off the appliance's own `dryRun`. */
  dryRun?: boolean;
  /**
   * Called with the plan before anything is written. Only approved writes are sent; the run fails with the error that it rejects with. It
   * is not called for reads, dry runs and empty plans.
   */
  approve?: RequestApproval | undefined;
  /**
   * Awaited right before each write is sent, to record it elsewhere. The write fails unsent with the error that it rejects with. It is not
   * called in a dry run.
   */
  beforeWrite?: (() => Promise<void>) | undefined;
  /**
   * Refuses a PUT of the configuration that removes something present, such as a field that the body leaves out. The error is `LIMIT` with
   * this reason, which `safeMessage` creates. Default: such a PUT is sent.
   */
  removalRefusal?: SafeMessage | undefined;
  /** Receives the parts of a streaming read (`emit: "page"` or `"record"`). */
  onPart?: (data: unknown, part: { index: number; count?: number }, envelope: Envelope) => void;
  /** Translates `envelope.summary`. Default: English. */
  translate?: Translate;
  /** Who started the run, for the journal. */
  initiator?: Initiator | undefined;
  /** Called a few times a second with the progress of an import or export. */
  onProgress?: (progress: Progress) => void;
}

/** Options of a run whose data comes as a whole. */
export interface RunOptionsWithoutParts extends Omit<RunOptions, 'onPart'> {
  onPart?: never;
}

/** A run that has ended, for `onRunEnd`. */
export interface EndedRun {
  readonly operation: string;
  /** The input as it was given. It can contain secrets. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The data; undefined after a failure. */
  readonly data: unknown;
  /** The envelope of the result or of the failure. */
  readonly envelope: Envelope;
  readonly initiator: Initiator | undefined;
}

/** `G` is the type `Gateway`, which this file cannot import because `gateway.ts` imports this file. */
export interface GatewayOptionsFor<G> {
  /** Locks and values shared with other processes. Default: shared by the gateways of this process. */
  coordination?: Coordination | undefined;
  /** Use an own login and connection instead of those that gateways of the same account share, to prove that a login works. */
  isolatedLogin?: boolean | undefined;
  /** With the setting `log`, called after each exchange, logins included. Its errors are ignored. */
  onExchange?: ((exchange: ExchangeLogEntry, appliance: string) => void) | undefined;
  /** Called after each run that is not a plan of another one, also after a failure. Its errors are ignored. */
  onRunEnd?: ((run: EndedRun) => void) | undefined;
  /**
   * A folder outside the folders of journals. It remembers the last line of each journal, so that a lost journal is noticed after a restart.
   * Default: remembered until the process ends.
   */
  stateFolder?: string | undefined;
  /** Facts for a support bundle about the program that runs the library. */
  hostInfo?: (() => HostInfo) | undefined;
  /**
   * Returns another appliance by name, for operations on two; undefined or a thrown `GatewayError` for an unknown name. Default: there is
   * no other appliance.
   */
  resolveAppliance?: ((name: string) => G | undefined) | undefined;
}

export interface RunOutcome<D = unknown> {
  /** The resource, records, result or `many`; undefined when everything was sent in parts. */
  data: D;
  /** Equal to `data` for an operation on several items, else null. */
  many: BulkResult | null;
  envelope: Envelope;
  /** True when everything was sent through `onPart`. */
  streamed: boolean;
}

/** Input and options of a run. The input is optional when no field is required. */
export type RunArguments<N extends OperationName, O> =
  Record<never, never> extends OperationInput<N>
    ? [input?: OperationInput<N>, options?: O | AbortSignal]
    : [input: OperationInput<N>, options?: O | AbortSignal];
