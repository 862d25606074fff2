import type { AbortSignalLike } from './abort';
import type { ExclusiveOptions } from './coordination';
import type { BulkResult, WriteResult } from './envelope';
import type { GatewayError } from './error';
import type { JsonObject } from './json';
import type { Request } from './request';
import type { Counters, CounterValues } from './counters';
import type { PeerCertificateInfo } from './peer-certificate';
import type { Download, Upload } from './stream';

export type LoginState = { state: 'ready' } | { state: 'pending'; resumeId: string } | { state: 'none' };

/** How far a long operation is: it waits for another one, or so many bytes of a transfer are through. */
export type Progress =
  | { readonly state: 'waiting' }
  | { readonly state: 'transferring'; readonly bytes: number; readonly total?: number }
  | { readonly state: 'items'; readonly done: number; readonly total: number };

export interface ExclusiveCallOptions extends Pick<ExclusiveOptions, 'onWait' | 'abortMessage'> {
  /** The work is of small exchanges: if whoever does it dies, the appliance is done with the last one soon, and the next may begin. */
  readonly isBrief?: boolean | undefined;
}

export interface ReadOptions {
  /** Ends it in place of the call's own signal. */
  readonly signal?: AbortSignalLike | undefined;
  /** It only has to be known first: the envelope does not tell of it as the request of the operation. */
  readonly isLookup?: boolean;
}

/** Something about the set-up that whoever operates it should know. */
export interface Finding {
  /** For programs: what it is. */
  readonly code: string;
  /** For people: what is found and what to do. */
  readonly text: string;
}

/** What whoever runs the library knows of itself. */
export interface HostInfo {
  readonly versions?: Readonly<Record<string, string>>;
  readonly findings?: readonly Finding[];
}

/** What a support bundle is made of; nothing in it is secret, or anybody's name. */
export interface SupportInfo {
  readonly settings: JsonObject;
  readonly counters: CounterValues;
  readonly exchanges: readonly object[];
  readonly host: HostInfo;
}

/** A body that is not JSON of ours. */
export interface RawBody {
  readonly type: string;
  readonly bytes: Buffer;
}

/** What an operation that needs more than one exchange works with. Writes become a plan in a dry run. */
export interface OperationContext {
  /** Reads a document: JSON of a 2xx, checked to be an object. */
  read(request: Request, options?: ReadOptions): Promise<JsonObject>;
  /** What this run has read at a path of the configuration, if no write has left for that place since; undefined where it has not. */
  cachedRead(path: string): Promise<JsonObject> | undefined;
  /** Sends a write and reads its result envelope; in a dry run plans it, with the body that is `shown` where its own has to stay secret. */
  write(request: Request, plannedBody?: JsonObject): Promise<WriteResult>;
  /** Reads whatever a path answers: a document of JSON, else text, or a Buffer where it is neither. Nothing at all is an empty object. */
  readAny(request: Request): Promise<unknown>;
  /** Sends a write whose answer may be a result envelope, anything else or nothing; `content` takes the place of a body of JSON. */
  writeAny(request: Request, content?: RawBody): Promise<unknown>;
  /** One write per item, on all connections at once, results in order; an item that fails does not stop the others. */
  writeEach<T>(items: readonly T[], request: (item: T) => Request, describeItem: (item: T) => unknown): Promise<BulkResult>;
  /** The same where an item takes more than one exchange: `work` gets a call of its own for each. */
  runEach<T>(
    items: readonly T[],
    work: (item: T, call: OperationContext) => Promise<unknown>,
    describeItem: (item: T) => unknown,
  ): Promise<BulkResult>;
  /** What became of items without a write, as data of an operation on many; `failures` by index. Errors: the first, when all failed. */
  collectResults(items: readonly unknown[], failures: ReadonlyMap<number, GatewayError>): BulkResult;
  /** The result of a write that found everything as it should be and sends nothing. */
  reportUnchanged(): WriteResult;
  /** Adds fields of the operation's own to the envelope. */
  addToEnvelope(fields: Record<string, unknown>): void;
  /** Announces that the data goes out in parts. Errors: `BAD_INPUT` when nobody takes them; nothing was sent. */
  startStream(): void;
  /** Sends out one part of a read that streams. */
  emitPart(data: unknown, part: { index: number; count?: number }): void;
  /** A read whose answer streams into what `open` makes, anew for every try; gives what its `finish` gives. */
  download<T>(request: Request, open: () => Promise<Download<T>>): Promise<T>;
  /** A write whose body streams, opened anew for a replay; a dry run plans it with the body that is `shown`. `digest`: hash of what is sent. */
  upload(request: Request, plannedBody: JsonObject, open: () => Promise<Upload>, digest?: () => Promise<string>): Promise<WriteResult>;
  /** Tells whoever watches how far it is. */
  reportProgress(progress: Progress): void;
  /**
   * Runs `work` while nobody else runs any of that name at this appliance, first come, first served; a plan waits for nobody.
   * Errors: `ABORTED` when this call is cancelled before its work begins; nothing of it was sent.
   */
  runExclusive<T>(name: string, work: () => Promise<T>, options?: ExclusiveCallOptions): Promise<T>;
  /** What a TLS handshake shows, of the appliance or of somebody else. It is no request: nothing is sent beyond the handshake. */
  fetchPeerCertificate(target?: { readonly host: string; readonly port: number }): Promise<PeerCertificateInfo>;
  /** What this gateway has sent since it was made. */
  readonly counters: Counters;
  /** What there is to tell whoever helps. */
  readonly supportInfo: SupportInfo;
  /**
   * Does some work at another appliance, by the name that it is configured under: reads go out, writes do not. Errors: `BAD_INPUT` and
   * `BAD_CONFIG` where there is none of that name; those of the work, which name the appliance.
   */
  onAppliance<T>(name: string, work: (call: OperationContext) => Promise<T>): Promise<T>;
  /** A fact about the appliance that is found out once and then kept. */
  memoize(fact: string, find: () => Promise<string>): Promise<string>;
  /** The key's own operations, for `gateway-login`. */
  readonly login: {
    start(): Promise<LoginState>;
    resume(code: string, resumeId: string | undefined): Promise<LoginState>;
    forget(): LoginState;
  };
  /** `base` is the base URL without a trailing slash, `prefix` its path, `name` that of the appliance. */
  readonly settings: {
    readonly name: string;
    /** Names that we log in with, where they are known. */
    readonly accounts: readonly string[];
    /** The admin realm of a realm login; empty = another login. */
    readonly realm: string;
    readonly vendor: string;
    readonly brand: string;
    readonly connections: number;
    readonly base: string;
    readonly prefix: string;
    /** Folder of the journal; empty = none. */
    readonly journal: string;
  };
  readonly dryRun: boolean;
  readonly signal: AbortSignal | undefined;
}
