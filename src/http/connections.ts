import type { Dispatcher } from 'undici';
import { afterTurns } from './turns';

/** What an exchange tells its connection. */
export interface Tenant extends Dispatcher.DispatchHandler {
  /** Of a request that no connection took there is no controller. */
  onResponseError(controller: Dispatcher.DispatchController | undefined, error: unknown): void;
  /** Nobody waits for it any more. */
  readonly settled: boolean;
  /** To be called once, when nothing more of it will come. */
  onOver: () => void;
  /** Its socket has ended: takes what has come, though it wanted to wait. */
  letGo(): void;
}

/** What a client tells of its socket: that it was opened, and that it has ended, before undici is told. */
export interface SocketEvents {
  readonly onOpened: () => void;
  readonly onEnding: () => void;
}

/** Makes a client of one connection. */
export type CreateClient = (events: SocketEvents) => Pick<Dispatcher, 'dispatch' | 'destroy'>;

interface Job {
  readonly options: Dispatcher.DispatchOptions;
  readonly tenant: Tenant;
}

/** Turns of the event loop, with a look at all sockets in each, between an answer and the next request on its connection. */
export const REST_TURNS = 2;

/**
 * A bounded number of connections, one exchange at a time on each. undici's own pool uses a connection again in the turn of the event
 * loop in which its answer came: what a server sends behind it, unasked, is then taken for the next answer. Here it rests first, and
 * undici ends a connection on which anything comes meanwhile.
 */
export class Connections {
  readonly #create: CreateClient;
  /** Sockets that were opened so far. */
  opened = 0;
  #limit: number;
  /** The latest used last, so that what is not needed becomes idle and ends. */
  readonly #free: Connection[] = [];
  readonly #all: Connection[] = [];
  readonly #waiting = new Queue<Job>();
  #resting = 0;

  constructor(limit: number, create: CreateClient) {
    this.#limit = limit;
    this.#create = create;
  }

  /** Those that are too many from now on end as soon as they are free. */
  set limit(limit: number) {
    this.#limit = limit;
    for (let connection = this.#surplus(); connection; connection = this.#surplus()) this.#end(connection);
    // Who waits for one may have more now.
    while (this.#waiting.size > 0) {
      const connection = this.#another();
      if (!connection) break;
      this.#isFree(connection);
    }
  }

  /** How many there are, and how many requests wait for one. */
  get load(): { readonly open: number; readonly waiting: number } {
    return { open: this.#all.length, waiting: this.#waiting.size };
  }

  dispatch(options: Dispatcher.DispatchOptions, tenant: Tenant): void {
    const job = { options, tenant };
    const connection = this.#free.pop() ?? this.#another();
    if (connection) this.#use(connection, job);
    else this.#waiting.push(job);
  }

  async destroy(): Promise<void> {
    await Promise.all(this.#all.map(({ client }) => client.destroy()));
  }

  /** None is opened for what can have one that only rests. */
  #another(): Connection | undefined {
    if (this.#all.length >= this.#limit || this.#waiting.size < this.#resting) return undefined;
    const onOpened = (): void => void this.opened++;
    const connection: Connection = { client: this.#create({ onOpened, onEnding: () => connection.tenant?.letGo() }), tenant: undefined };
    this.#all.push(connection);
    return connection;
  }

  #use(connection: Connection, { options, tenant }: Job): void {
    connection.tenant = tenant;
    tenant.onOver = () => {
      connection.tenant = undefined;
      this.#resting++;
      afterTurns(REST_TURNS, () => {
        this.#resting--;
        this.#isFree(connection);
      });
    };
    try {
      connection.client.dispatch(options, tenant);
    } catch (error) {
      tenant.onResponseError(undefined, error);
    }
  }

  /** One that is free, where there are too many. */
  #surplus(): Connection | undefined {
    return this.#all.length > this.#limit ? this.#free.pop() : undefined;
  }

  #end(connection: Connection): void {
    this.#all.splice(this.#all.indexOf(connection), 1);
    void connection.client.destroy();
  }

  #isFree(connection: Connection): void {
    if (this.#all.length > this.#limit) return this.#end(connection);
    let job = this.#waiting.shift();
    while (job?.tenant.settled) job = this.#waiting.shift();
    if (job) this.#use(connection, job);
    else this.#free.push(connection);
  }
}

interface Connection {
  readonly client: ReturnType<CreateClient>;
  tenant: Tenant | undefined;
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
