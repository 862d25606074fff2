import type { Dispatcher } from 'undici';

/** Receives the events of one exchange from its connection. */
export interface ResponseHandler extends Dispatcher.DispatchHandler {
  /** Ends the exchange with an error. `controller` is undefined when no connection accepted the request. */
  onResponseError(controller: Dispatcher.DispatchController | undefined, error: unknown): void;
  /** Whether the caller no longer needs a response. */
  readonly isSettled: boolean;
  /** Whether a connection is reserved for this exchange. */
  hasConnection?: boolean;
  /** Called once by the handler, after its last event. */
  onDone: () => void;
  /** Reads the rest of a paused response because its socket has ended. `end` resolves to how it ended. */
  finishEarly(end: Promise<ConnectionEnd>): void;
}

/** `reset`: the connection was reset, although Node.js reports an ordinary end (see `readStreamEnd`). */
export type ConnectionEnd = 'finished' | 'reset';

/** Socket events that a client reports before undici handles them. */
export interface SocketEvents {
  readonly onOpen: () => void;
  readonly onEnd: (end: Promise<ConnectionEnd>) => void;
}

/** Creates a client with a single connection. */
type CreateClient = (events: SocketEvents) => Pick<Dispatcher, 'dispatch' | 'destroy'>;

interface QueuedRequest {
  readonly options: Dispatcher.DispatchOptions;
  readonly handler: ResponseHandler;
}

/** Event loop turns between a response and the next request on the same connection. */
export const REUSE_DELAY_TICKS = 2;

/**
 * Holds a bounded number of connections, with one exchange at a time on each. undici's own pool reuses a connection in the same turn of the
 * event loop. Unsolicited bytes behind a response would then answer the next request. This pool waits some turns first, and undici closes a
 * connection that receives bytes meanwhile.
 */
export class ConnectionPool {
  readonly #create: CreateClient;
  /** Number of sockets that the pool has opened. */
  opened = 0;
  #limit: number;
  /** A stack: the most recently used connection is taken first, so that the others become idle and close. */
  readonly #free: Connection[] = [];
  readonly #all: Connection[] = [];
  readonly #waiting = new Queue<QueuedRequest>();
  #reuseDelayedCount = 0;

  constructor(limit: number, create: CreateClient) {
    this.#limit = limit;
    this.#create = create;
  }

  /** Surplus connections close as soon as they are free. */
  set limit(limit: number) {
    this.#limit = limit;
    for (let connection = this.#takeSurplus(); connection; connection = this.#takeSurplus()) this.#close(connection);
    // A higher limit serves waiting requests at once.
    while (this.#waiting.size > 0) {
      const connection = this.#openConnection();
      if (!connection) break;
      this.#release(connection);
    }
  }

  /** Counts open connections and waiting requests. */
  get load(): { readonly open: number; readonly waiting: number } {
    return { open: this.#all.length, waiting: this.#waiting.size };
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: ResponseHandler): void {
    const request = { options, handler };
    const connection = this.#free.pop() ?? this.#openConnection();
    if (connection) this.#dispatchOn(connection, request);
    else this.#waiting.push(request);
  }

  /** Closes the connections that no exchange uses. */
  closeIdle(): void {
    for (const connection of this.#free.splice(0)) this.#close(connection);
  }

  async destroy(): Promise<void> {
    await Promise.all(this.#all.map(({ client }) => client.destroy()));
  }

  /** Opens no connection while enough others wait only for their reuse delay. */
  #openConnection(): Connection | undefined {
    if (this.#all.length >= this.#limit || this.#waiting.size < this.#reuseDelayedCount) return undefined;
    const onOpen = (): void => void this.opened++;
    const connection: Connection = {
      client: this.#create({ onOpen, onEnd: (end) => connection.handler?.finishEarly(end) }),
      handler: undefined,
      onDone: () => {
        connection.handler = undefined;
        this.#reuseDelayedCount++;
        afterEventLoopTicks(REUSE_DELAY_TICKS, connection.onRested);
      },
      onRested: () => {
        this.#reuseDelayedCount--;
        this.#release(connection);
      },
    };
    this.#all.push(connection);
    return connection;
  }

  #dispatchOn(connection: Connection, { options, handler }: QueuedRequest): void {
    connection.handler = handler;
    handler.hasConnection = true;
    handler.onDone = connection.onDone;
    try {
      connection.client.dispatch(options, handler);
    } catch (error) {
      handler.onResponseError(undefined, error);
    }
  }

  /** Returns a free connection when the pool exceeds its limit. */
  #takeSurplus(): Connection | undefined {
    return this.#all.length > this.#limit ? this.#free.pop() : undefined;
  }

  #close(connection: Connection): void {
    this.#all.splice(this.#all.indexOf(connection), 1);
    void connection.client.destroy();
  }

  #release(connection: Connection): void {
    if (this.#all.length > this.#limit) return this.#close(connection);
    let request = this.#waiting.shift();
    while (request?.handler.isSettled) request = this.#waiting.shift();
    if (request) this.#dispatchOn(connection, request);
    else this.#free.push(connection);
  }
}

interface Connection {
  readonly client: ReturnType<CreateClient>;
  handler: ResponseHandler | undefined;
  /** Callbacks that are created once, because each exchange needs them. */
  readonly onDone: () => void;
  readonly onRested: () => void;
}

/** A queue whose `shift` takes constant time; `Array.shift` moves all other items. */
class Queue<T> {
  #items: (T | undefined)[] = [];
  #first = 0;

  get size(): number {
    return this.#items.length - this.#first;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#first];
    this.#items[this.#first++] = undefined;
    // Compacting at half length moves each item once on average.
    if (2 * this.#first >= this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }
}

/** Runs `work` after this many turns of the event loop. In each turn, Node.js polls all sockets. */
export function afterEventLoopTicks(ticks: number, work: () => void): void {
  if (ticks > 1) setImmediate(afterEventLoopTicks, ticks - 1, work);
  else setImmediate(work);
}
