import type { OperationInput, OperationName } from './areas';
import type { ExchangeLogEntry } from './http/exchange-log';
import type { Initiator } from './journal/record-writes';
import type { HostInfo } from './model/operation-context';
import type { AbortSignalLike } from './model/abort';
import type { Coordination } from './model/coordination';
import type { Envelope, BulkResult } from './model/envelope';
import type { Progress } from './model/operation';
import type { Translate } from './model/summary';
import type { RequestApproval } from './run/approval';

export interface RunOptions {
  /** An `AbortSignal`, or what is like one. */
  signal?: AbortSignalLike | undefined;
  /** Plan writes instead of sending them; the appliance's own `dryRun` cannot be switched off here. */
  dryRun?: boolean;
  /**
   * Asked before anything is written, with the plan: what is approved is the most that happens, what it rejects with is the outcome. Not asked
   * for reads and dry runs, nor where nothing would be written.
   */
  approve?: RequestApproval | undefined;
  /**
   * Awaited before each write leaves, when everything else is looked at: to note that it is about to be sent. What it rejects with is the
   * outcome of that write, which has then not been sent. Not called in a dry run.
   */
  beforeWrite?: (() => Promise<void>) | undefined;
  /** Takes the parts of a read that streams (`emit: "page"` or `"record"`). */
  onPart?: (data: unknown, part: { index: number; count?: number }, envelope: Envelope) => void;
  /** Puts `envelope.summary` into another language than English. */
  translate?: Translate;
  /** Who asks for it, for the journal. */
  initiator?: Initiator | undefined;
  /** Told a few times a second how far an import or export is. */
  onProgress?: (progress: Progress) => void;
}

/** `G` is the gateway itself, which is told of further up. */
export interface GatewayOptionsFor<G> {
  /** What is shared with other processes; by default, with the other gateways of this one. */
  coordination?: Coordination | undefined;
  /** Logs in by itself in place of using the key that other gateways of the account have: to prove that a login works. */
  isolatedLogin?: boolean | undefined;
  /** With the setting `log`, told of each exchange that has ended, logins among them. What it throws is nobody's business. */
  onExchange?: ((exchange: ExchangeLogEntry, appliance: string) => void) | undefined;
  /** What whoever runs this adds to a support bundle. */
  hostInfo?: (() => HostInfo) | undefined;
  /** The other appliances, by name, for operations on two; undefined, or a `GatewayError` that says why, for a name that is none. Default: there are none. */
  resolveAppliance?: ((name: string) => G | undefined) | undefined;
}

export interface RunOutcome<D = unknown> {
  /** The resource, records, result or `many`; undefined when everything went out in parts. */
  data: D;
  /** The same as `data` where that tells of several items, one by one; else null. */
  many: BulkResult | null;
  envelope: Envelope;
  /** True when everything went out through `onPart`. */
  streamed: boolean;
}

/** Input and options of a run; the input may be left out where no field is required. */
export type RunArguments<N extends OperationName, O> =
  Record<never, never> extends OperationInput<N>
    ? [input?: OperationInput<N>, options?: O | AbortSignal]
    : [input: OperationInput<N>, options?: O | AbortSignal];
