import type { X509Certificate } from 'node:crypto';
import type { AbortSignalLike } from './abort';
import type { ExclusiveOptions } from './coordination';
import type { BulkResult, WriteResult } from './envelope';
import type { GatewayError } from './error';
import type { JsonObject } from './json';
import type { Request } from './request';
import type { Counters, CounterValues } from './counters';
import type { PeerCertificateInfo } from './peer-certificate';
import type { RawConnection } from './raw-exchange';
import type { RecordSigner } from './record-signer';
import type { Download, Upload } from './stream';

export type LoginState = { state: 'ready' } | { state: 'pending'; resumeId: string } | { state: 'none' };

/** Progress of a long operation: waiting for another run, bytes transferred, or items done. */
export type Progress =
  | { readonly state: 'waiting' }
  | { readonly state: 'transferring'; readonly bytes: number; readonly total?: number }
  | { readonly state: 'items'; readonly done: number; readonly total: number };

export interface ExclusiveCallOptions extends Pick<ExclusiveOptions, 'onWait' | 'abortMessage'> {
  /** The work consists of small exchanges. When its holder dies, the appliance finishes the last one soon, so the lease can be short. */
  readonly isBrief?: boolean | undefined;
}

export interface ReadOptions {
  /** A signal that cancels this read instead of the signal of the run. */
  readonly signal?: AbortSignalLike | undefined;
  /** The read only prepares the operation: the envelope does not report it as the request of the operation. */
  readonly isLookup?: boolean;
}

/** A problem with the setup that an administrator should know about. */
export interface Finding {
  /** Identifies the finding in programs. */
  readonly code: string;
  /** Says what was found and what to do. */
  readonly text: string;
}

/** Facts about the program that runs the library. */
export interface HostInfo {
  readonly versions?: Readonly<Record<string, string>>;
  readonly findings?: readonly Finding[];
}

/** Contents of a support bundle, without secrets and names. */
export interface SupportInfo {
  readonly settings: JsonObject;
  readonly counters: CounterValues;
  readonly exchanges: readonly object[];
  readonly host: HostInfo;
}

/** A body that is not JSON. */
export interface RawBody {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The interface that an operation with several exchanges works with. A dry run plans writes instead of sending them. */
export interface OperationContext {
  /** Reads a JSON object. Errors: by status, `BAD_RESPONSE` for other content. */
  read(request: Request, options?: ReadOptions): Promise<JsonObject>;
  /** The response to this run's last read of a configuration path; undefined when there was none or a write to that path has left since. */
  cachedRead(path: string): Promise<JsonObject> | undefined;
  /**
   * Sends a write and reads its result envelope. A dry run plans it, with `plannedBody` when the body itself must stay secret. The plan
   * shows what `describeItem` returns.
   */
  write(request: Request, plannedBody?: JsonObject, describeItem?: () => unknown): Promise<WriteResult>;
  /** Reads any response: a JSON document, else text, or a Buffer when it is neither. An empty response is an empty object. */
  readAny(request: Request): Promise<unknown>;
  /** Sends a write whose response may be a result envelope, anything else or nothing. `content` replaces the JSON body. */
  writeAny(request: Request, content?: RawBody): Promise<unknown>;
  /** Sends one write per item on all connections. Results keep the order; a failing item does not stop the others. */
  writeEach<T>(items: readonly T[], request: (item: T) => Request, describeItem: (item: T) => unknown): Promise<BulkResult>;
  /** Like `writeEach` for items that take several exchanges: `work` gets its own context per item. */
  runEach<T>(
    items: readonly T[],
    work: (item: T, call: OperationContext) => Promise<unknown>,
    describeItem: (item: T) => unknown,
  ): Promise<BulkResult>;
  /** The result of an operation on many items without writes; `failures` by index. Errors: the first failure when all items failed. */
  collectResults(items: readonly unknown[], failures: ReadonlyMap<number, GatewayError>): BulkResult;
  /** The result of a write that found nothing to change and sent nothing. */
  reportUnchanged(): WriteResult;
  /** Reports whether the update that was just sent differed from the state before it. Without a report, `changed` is null. */
  reportDifference(isDifferent?: boolean): void;
  /** Adds the operation's own fields to the envelope. */
  addToEnvelope(fields: Record<string, unknown>): void;
  /** Announces that the data leaves in parts. Errors: `BAD_INPUT` when the caller accepts no parts; nothing was sent. */
  startStream(): void;
  /** Sends one part of a streaming read. */
  emitPart(data: unknown, part: { index: number; count?: number }): void;
  /** Reads a response into the download that `open` creates. Each retry opens a new one. Returns what `finish` returns. */
  download<T>(request: Request, open: () => Promise<Download<T>>): Promise<T>;
  /** Writes a streaming body, opened again for a replay. A dry run plans it with `plannedBody`. `digest` is the hash of the body. */
  upload(request: Request, plannedBody: JsonObject, open: () => Promise<Upload>, digest?: () => Promise<string>): Promise<WriteResult>;
  /** Reports progress to the caller. */
  reportProgress(progress: Progress): void;
  /**
   * Runs `work` while no other run uses that name at this appliance, in the order of the calls; a dry run does not wait. Errors: `ABORTED`
   * when the run is canceled before the work starts; nothing of it was sent.
   */
  runExclusive<T>(name: string, work: () => Promise<T>, options?: ExclusiveCallOptions): Promise<T>;
  /** Reads the certificates of a TLS handshake with the appliance or another host. It sends nothing beyond the handshake. */
  fetchPeerCertificate(target?: { readonly host: string; readonly port: number }): Promise<PeerCertificateInfo>;
  /** Reads the certificate of the appliance in a TLS handshake, as Node.js describes it. */
  readPeerCertificate(): Promise<X509Certificate>;
  /** Exchanges without retries and interpretation, for a conformance check. Only for reads. */
  readonly raw: RawConnection;
  /** What this gateway has sent since it was created. */
  readonly counters: Counters;
  /** Seconds by which the appliance's clock is ahead of this machine; undefined before the first response. */
  readonly clockOffsetSeconds: number | undefined;
  /** Diagnostics for support. */
  readonly supportInfo: SupportInfo;
  /**
   * Runs `work` at another appliance by its configured name: reads are sent, writes are not. Errors: `BAD_INPUT` and `BAD_CONFIG` when
   * there is no such appliance; those of `work`, which name the appliance.
   */
  onAppliance<T>(name: string, work: (call: OperationContext) => Promise<T>): Promise<T>;
  /** Finds a fact about the appliance once and caches it. */
  memoize(fact: string, find: () => Promise<string>): Promise<string>;
  /** Operations on the API key, for `gateway-login`. */
  readonly login: {
    start(): Promise<LoginState>;
    resume(code: string, resumeId: string | undefined): Promise<LoginState>;
    forget(): LoginState;
  };
  /** `base` is the base URL without a trailing slash, `prefix` its path, `name` the name of the appliance. */
  readonly settings: {
    readonly name: string;
    /** User names of our logins, as far as they are known. */
    readonly accounts: readonly string[];
    /** Whether the requests go to a copy. */
    readonly isRehearsal: boolean;
    /** The admin realm of a realm login; empty for other logins. */
    readonly realm: string;
    readonly vendor: string;
    readonly brand: string;
    readonly connections: number;
    readonly base: string;
    readonly prefix: string;
    /** Folder of the journal; empty when there is none. */
    readonly journal: string;
    /** Signs and checks records in folders. Undefined without a signing key. */
    readonly signer: RecordSigner | undefined;
    /** A folder with records, across restarts, of what other folders must contain. */
    readonly stateFolder: string | undefined;
  };
  readonly dryRun: boolean;
  readonly signal: AbortSignal | undefined;
}
