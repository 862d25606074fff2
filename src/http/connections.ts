import type { Client, Dispatcher } from 'undici';
import type { Inlet } from './inlet';

/** What an exchange is told; `settled` once nobody waits for it any more. */
export interface Taker extends Dispatcher.DispatchHandler {
  readonly settled: boolean;
}

/** Makes a client of one connection and tells of each socket that it opens. */
type Create = (opened: (inlet: Inlet) => void) => Client;

interface Job {
  readonly options: Dispatcher.DispatchOptions;
  readonly taker: Taker;
}

/**
 * A bounded number of connections to one origin, each an undici `Client`, one exchange at a time on each. undici's own `Pool`
 * lets a socket rest for a turn of the event loop before it uses it again, and with all of them in step that costs a third of
 * the rate. Here a read that waits goes out as soon as what has arrived with the last answer is parsed: bytes that do not belong
 * there still end the connection unused, but one that the appliance closes right after answering is only noticed by the read,
 * which is repeated, and from then on all wait. A write always waits: nobody could tell afterwards whether it had happened.
 */
export class Connections {
  readonly #create: Create;
  readonly #limit: number;
  /** The latest used last, so that what is not needed becomes idle and ends. */
  readonly #free: Connection[] = [];
  readonly #all: Connection[] = [];
  readonly #waiting = new Queue<Job>();
  #closesSilently = false;

  constructor(limit: number, create: Create) {
    this.#limit = limit;
    this.#create = create;
  }

  dispatch(options: Dispatcher.DispatchOptions, taker: Taker): void {
    const connection = this.#free.pop() ?? this.#another();
    if (connection) connection.take({ options, taker });
    else this.#waiting.push({ options, taker });
  }

  async destroy(): Promise<void> {
    await Promise.all(this.#all.map((connection) => connection.destroy()));
  }

  /** The next that is still wanted. */
  next(): Job | undefined {
    for (;;) {
      const job = this.#waiting.shift();
      if (!job?.taker.settled) return job;
    }
  }

  isFree(connection: Connection): void {
    this.#free.push(connection);
  }

  /** Whether a job may go out at once on a socket that was used just now. */
  isHasty({ options }: Job): boolean {
    return options.method === 'GET' && !this.#closesSilently;
  }

  hasteWasWrong(): void {
    this.#closesSilently = true;
  }

  #another(): Connection | undefined {
    if (this.#all.length >= this.#limit) return undefined;
    const connection = new Connection(this, this.#create);
    this.#all.push(connection);
    return connection;
  }
}

/** One connection, opened at need; it may be another socket after a fault. */
class Connection {
  readonly #owner: Connections;
  readonly #create: Create;
  #client: Client | undefined;
  #inlet: Inlet | undefined;

  constructor(owner: Connections, create: Create) {
    this.#owner = owner;
    this.#create = create;
  }

  take(job: Job, hasty = false): void {
    this.#client ??= this.#open();
    this.#client.dispatch(job.options, new Turn(this, job.taker, hasty));
  }

  /** Whether what comes is a body and nothing else. */
  lend(lent: boolean): void {
    if (this.#inlet) this.#inlet.lent = lent;
  }

  /** What broke the socket, which undici does not always tell. */
  get fault(): Error | undefined {
    return this.#inlet?.fault;
  }

  /** After an answer, still inside undici's parser: what is handed over here is queued behind it, on a socket that is not idle. */
  answered(): void {
    const job = this.#owner.next();
    if (!job) {
      this.#owner.isFree(this);
      return;
    }
    const hasty = this.#owner.isHasty(job);
    this.take(job, hasty);
    // Setting the factor, though it stays the same, makes undici look at its queue, instead of in the next turn of the event loop.
    if (hasty) queueMicrotask(() => this.#client && (this.#client.pipelining = 1));
  }

  failed(hasty: boolean): void {
    if (hasty) this.#owner.hasteWasWrong();
    // undici is in the middle of clearing up.
    queueMicrotask(() => {
      const job = this.#owner.next();
      if (job) this.take(job);
      else this.#owner.isFree(this);
    });
  }

  async destroy(): Promise<void> {
    await this.#client?.destroy();
  }

  #open(): Client {
    const client = this.#create((inlet) => (this.#inlet = inlet));
    // One whose certificate was for another name keeps counting the request that it has failed: it would never send again.
    client.once('connectionError', () => {
      if (this.#client === client) this.#client = undefined;
      void client.destroy();
    });
    return client;
  }
}

/** One exchange on a connection: passes everything on, and tells the connection when it is over. */
class Turn implements Dispatcher.DispatchHandler {
  readonly #connection: Connection;
  readonly #taker: Taker;
  #hasty: boolean;
  #over = false;

  constructor(connection: Connection, taker: Taker, hasty: boolean) {
    this.#connection = connection;
    this.#taker = taker;
    this.#hasty = hasty;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#taker.onRequestStart?.(controller, context);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Record<string, string | string[] | undefined>): void {
    this.#hasty = false;
    // undici keeps pieces of chunks as long as it parses trailers; what has a length has none.
    if (status >= 200 && headers['content-length'] !== undefined) this.#connection.lend(true);
    this.#taker.onResponseStart?.(controller, status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#taker.onResponseData?.(controller, chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: Record<string, string | string[] | undefined>): void {
    const { fault } = this.#connection;
    if (fault) {
      this.onResponseError(controller, fault);
      return;
    }
    if (this.#end()) this.#connection.answered();
    this.#taker.onResponseEnd?.(controller, trailers);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    // Cancelled by ourselves says nothing about the appliance.
    if (this.#end()) this.#connection.failed(this.#hasty && !this.#taker.settled);
    this.#taker.onResponseError?.(controller, error);
  }

  #end(): boolean {
    if (this.#over) return false;
    this.#connection.lend(false);
    return (this.#over = true);
  }
}

/** First in, first out, however many wait: an array's own `shift` moves all the others. */
class Queue<T> {
  #items: (T | undefined)[] = [];
  #first = 0;

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#first];
    if (item === undefined) return undefined;
    this.#items[this.#first++] = undefined;
    if (this.#first >= 1024 || this.#first === this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }
}
