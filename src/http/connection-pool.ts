import type { Dispatcher } from 'undici';
import { afterEventLoopTicks } from './event-loop-ticks';

/** What an exchange tells its connection. */
export interface ResponseHandler extends Dispatcher.DispatchHandler {
  /** Of a request that no connection took there is no controller. */
  onResponseError(controller: Dispatcher.DispatchController | undefined, error: unknown): void;
  /** Nobody waits for it any more. */
  readonly isSettled: boolean;
  /** To be called once, when nothing more of it will come. */
  onDone: () => void;
  /** Its socket has ended: takes what has come, though it wanted to wait. */
  finishEarly(): void;
}

/** What a client tells of its socket: that it was opened, and that it has ended, before undici is told. */
export interface SocketEvents {
  readonly onOpen: () => void;
  readonly onEnd: () => void;
}

/** Makes a client of one connection. */
export type CreateClient = (events: SocketEvents) => Pick<Dispatcher, 'dispatch' | 'destroy'>;

interface QueuedRequest {
  readonly options: Dispatcher.DispatchOptions;
  readonly handler: ResponseHandler;
}

/** Turns of the event loop, with a look at all sockets in each, between an answer and the next request on its connection. */
export const REUSE_DELAY_TICKS = 2;

/**
 * A bounded number of connections, one exchange at a time on each. undici's own pool uses a connection again in the turn of the event
 * loop in which its answer came: what a server sends behind it, unasked, is then taken for the next answer. Here it rests first, and
 * undici ends a connection on which anything comes meanwhile.
 */
export class ConnectionPool {
  readonly #create: CreateClient;
  /** Sockets that were opened so far. */
  opened = 0;
  #limit: number;
  /** The latest used last, so that what is not needed becomes idle and ends. */
  readonly #free: Connection[] = [];
  readonly #all: Connection[] = [];
  readonly #waiting = new Queue<QueuedRequest>();
  #reuseDelayedCount = 0;

  constructor(limit: number, create: CreateClient) {
    this.#limit = limit;
    this.#create = create;
  }

  /** Those that are too many from now on end as soon as they are free. */
  set limit(limit: number) {
    this.#limit = limit;
    for (let connection = this.#takeSurplus(); connection; connection = this.#takeSurplus()) this.#close(connection);
    // Who waits for one may have more now.
    while (this.#waiting.size > 0) {
      const connection = this.#openConnection();
      if (!connection) break;
      this.#release(connection);
    }
  }

  /** How many there are, and how many requests wait for one. */
  get load(): { readonly open: number; readonly waiting: number } {
    return { open: this.#all.length, waiting: this.#waiting.size };
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: ResponseHandler): void {
    const request = { options, handler };
    const connection = this.#free.pop() ?? this.#openConnection();
    if (connection) this.#dispatchOn(connection, request);
    else this.#waiting.push(request);
  }

  async destroy(): Promise<void> {
    await Promise.all(this.#all.map(({ client }) => client.destroy()));
  }

  /** None is opened for what can have one that only rests. */
  #openConnection(): Connection | undefined {
    if (this.#all.length >= this.#limit || this.#waiting.size < this.#reuseDelayedCount) return undefined;
    const onOpen = (): void => void this.opened++;
    const connection: Connection = { client: this.#create({ onOpen, onEnd: () => connection.handler?.finishEarly() }), handler: undefined };
    this.#all.push(connection);
    return connection;
  }

  #dispatchOn(connection: Connection, { options, handler }: QueuedRequest): void {
    connection.handler = handler;
    handler.onDone = () => {
      connection.handler = undefined;
      this.#reuseDelayedCount++;
      afterEventLoopTicks(REUSE_DELAY_TICKS, () => {
        this.#reuseDelayedCount--;
        this.#release(connection);
      });
    };
    try {
      connection.client.dispatch(options, handler);
    } catch (error) {
      handler.onResponseError(undefined, error);
    }
  }

  /** One that is free, where there are too many. */
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
}

/** First in, first out, however many wait: an array's own `shift` moves all the others. */
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
    // Once half of it is over the rest moves up: each item once on average.
    if (2 * this.#first >= this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }
}
