import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { Body } from './body';
import type { Taker } from './connections';
import { Deadlines, type Bounded } from './deadlines';
import { GatewayError } from '../model/error';
import { networkFault, type Stage } from './faults';
import type { Pool } from './pool';
import type { CheckedSettings, ProxySettings } from '../model/settings';
import type { Sink } from '../model/stream';
import type { Cancellable } from '../model/cancelling';
import { ours, sentence } from '../model/sentence';

/** One exchange, ready to send. `path` holds the base URL's prefix and the query. */
export interface Exchange {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  authorization: string;
  body?: string | Buffer | Readable;
  /** Headers of a body that is not JSON, and of an answer that is not. */
  headers?: Readonly<Record<string, string>>;
  /** Takes the body of a 2xx as it comes, unless that is JSON: then the appliance has something to say instead. */
  sink?: Sink;
  /** Time limit of this exchange instead of the usual one. */
  seconds?: number;
  signal?: Cancellable | undefined;
}

/** What came back, whole; the body is empty when it `streamed` into the sink. */
export interface Reply {
  status: number;
  contentType: string;
  /** As it came; undefined when it did not. */
  retryAfter?: string | undefined;
  body: Body;
  streamed?: boolean;
}

/** No document of the interface comes near; what is larger is not what was asked for. */
const MAX_BYTES = 128 * 1024 * 1024;

/**
 * Exchanges with one appliance over a bounded pool of kept connections, one TLS context, no redirects. It does not repeat and
 * does not judge statuses. `send` ends with a whole reply or a `GatewayError` (`TIMEOUT`, `CONNECTION`, `TLS`, `BAD_RESPONSE`,
 * `LIMIT`, `ABORTED`) whose `details.sent` tells whether a byte of the request may have left.
 */
export class Transport {
  readonly #settings: CheckedSettings;
  /** Undefined where the proxy node excepts this host. */
  readonly #proxy: ProxySettings | undefined;
  /** For the words of errors: whoever cannot connect has to know to what. */
  readonly #host: string;
  readonly #inFlight = new Deadlines<Answer>();
  readonly #pulse = { at: -Infinity };
  #pool: Promise<Pool> | undefined;
  #ready: Pool | undefined;
  #closed = false;

  constructor(settings: CheckedSettings) {
    this.#settings = settings;
    const { hostname, host, port } = new URL(settings.origin);
    const { proxy } = settings;
    this.#proxy = proxy && !bypasses(proxy, hostname, port) ? proxy : undefined;
    this.#host = this.#proxy ? `${host} (through the proxy ${new URL(this.#proxy.url).host})` : host;
  }

  send(exchange: Exchange): Promise<Reply> {
    return this.#ready ? this.#dispatch(this.#ready, exchange) : this.#open().then((pool) => this.#dispatch(pool, exchange));
  }

  #dispatch(pool: Pool, exchange: Exchange): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      if (this.#closed) throw closed();
      // The first call waits for the client to be loaded; it may be cancelled in between.
      if (exchange.signal?.aborted) throw aborted(false);
      const answer = new Answer(exchange, this.#host, exchange.seconds ?? this.#settings.timeout, this.#pulse, (error, reply) => {
        this.#inFlight.delete(answer);
        if (reply) resolve(reply);
        else if (error) reject(error);
      });
      this.#inFlight.add(answer);
      const headers: Record<string, string> = { authorization: exchange.authorization, accept: 'application/json' };
      if (exchange.body !== undefined) headers['content-type'] = 'application/json';
      if (exchange.headers) Object.assign(headers, exchange.headers);
      const { method, path, body = null } = exchange;
      try {
        pool.dispatch({ origin: this.#settings.origin, method, path, headers, body }, answer);
      } catch (error) {
        answer.onResponseError(undefined, error);
      }
    });
  }

  /** Ends everything that is under way with `ABORTED` and closes every connection. */
  close(): void {
    this.#closed = true;
    this.#inFlight.close();
    for (const answer of [...this.#inFlight.items]) answer.abort();
    void this.#pool?.then((pool) => pool.destroy()).catch(() => undefined);
  }

  async #open(): Promise<Pool> {
    if (this.#closed) throw closed();
    // With undici, TLS and all: Node-RED's start should not pay for them.
    this.#pool ??= import('./pool.js').then(({ createPool }) => createPool(this.#settings, this.#proxy));
    return (this.#ready = await this.#pool);
  }
}

/** Collects one answer. It learns from undici when the first byte is about to leave, which decides what a fault means for a write. */
class Answer implements Taker, Bounded {
  place = 0;
  deadline: number;
  #stage: Stage = 'connecting';
  settled = false;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #contentType = '';
  #retryAfter: string | undefined;
  #bytes = 0;
  #sink: Sink | undefined;
  readonly #body = new Body();
  readonly #onAbort = (): void => this.abort();

  constructor(
    readonly exchange: Exchange,
    readonly host: string,
    readonly seconds: number,
    /** When the appliance last answered anything. */
    readonly pulse: { at: number },
    readonly settle: (error: GatewayError | undefined, reply?: Reply) => void,
  ) {
    this.deadline = performance.now() + seconds * 1000;
    exchange.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  expire(): void {
    const limit = this.seconds * 1000;
    // Waiting for a connection is no part of the exchange, as long as the appliance answers those before this one.
    if (this.#stage === 'connecting' && this.pulse.at + limit > performance.now()) this.deadline = this.pulse.at + limit;
    else this.#fail(this.#timeout());
  }

  abort(): void {
    this.#fail(aborted(this.#stage !== 'connecting'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Aborted while it waited for a free connection: take it back before a byte leaves.
    if (this.settled) {
      controller.abort(aborted(false));
      return;
    }
    this.#controller = controller;
    this.#stage = 'waiting';
    this.deadline = performance.now() + this.seconds * 1000;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Record<string, string | string[] | undefined>): void {
    // 1xx is not an answer.
    if (status < 200) return;
    this.pulse.at = performance.now();
    this.#stage = 'answering';
    this.#status = status;
    const type = headers['content-type'];
    this.#contentType = typeof type === 'string' ? type : '';
    const retryAfter = headers['retry-after'];
    if (typeof retryAfter === 'string') this.#retryAfter = retryAfter;
    const length = headers['content-length'];
    const total = typeof length === 'string' && length !== '' ? Number(length) : undefined;
    this.#body.total = total;
    const { sink } = this.exchange;
    if (sink && status < 300 && !this.settled) this.#stream(sink, controller, total);
  }

  #stream(sink: Sink, controller: Dispatcher.DispatchController, total: number | undefined): void {
    this.#sink = sink;
    sink.start(total, {
      pause: () => controller.pause(),
      resume: () => controller.resume(),
      fail: (error) => this.#fail(error),
    });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // undici goes on after a pause with a chunk of nothing.
    if (this.settled || chunk.length === 0) return;
    // Neither XML nor base64 begins with a brace: that is a message of the appliance, whatever type it is said to have.
    if (this.#sink && this.#bytes === 0 && isJson(chunk)) this.#sink = undefined;
    this.#bytes += chunk.length;
    if (this.#sink) this.#sink.write(chunk);
    else if (this.#bytes <= MAX_BYTES) this.#body.add(chunk);
    else
      this.#fail(
        new GatewayError('LIMIT', sentence`The answer of ${ours(this.host)} is larger than ${MAX_BYTES / 1024 / 1024} MiB.`, {
          sent: true,
        }),
      );
  }

  onResponseEnd(): void {
    const reply: Reply = { status: this.#status, contentType: this.#contentType, retryAfter: this.#retryAfter, body: this.#body };
    if (this.#sink) reply.streamed = true;
    this.#settle(undefined, reply);
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: unknown): void {
    this.#settle(error instanceof GatewayError ? error : networkFault(error, this.#stage, this.host));
  }

  #fail(error: GatewayError): void {
    this.#settle(error);
    this.#controller?.abort(error);
  }

  #settle(error: GatewayError | undefined, reply?: Reply): void {
    if (this.settled) return;
    this.settled = true;
    this.exchange.signal?.removeEventListener('abort', this.#onAbort);
    this.settle(error, reply);
  }

  #timeout(): GatewayError {
    const what = {
      connecting: 'no connection was free or could be opened',
      waiting: 'it did not answer',
      answering: 'its answer did not end',
    };
    const words = sentence`${ours(this.host)}: ${ours(what[this.#stage])} within ${this.seconds} s. Raise the time limit of the appliance node if that is usual for it.`;
    return new GatewayError('TIMEOUT', words, { sent: this.#stage !== 'connecting' });
  }
}

function isJson(chunk: Buffer): boolean {
  return chunk.toString('latin1', 0, 64).trimStart().startsWith('{');
}

function aborted(sent: boolean): GatewayError {
  return new GatewayError('ABORTED', 'Cancelled before it was done.', { sent });
}

function closed(): GatewayError {
  return new GatewayError('ABORTED', 'The appliance node was closed or deployed anew before this was sent.', { sent: false });
}

/** A host of the proxy node's exceptions: exact, `*.example.com`, or `.example.com`; with or without a port. */
function bypasses({ noproxy = [] }: ProxySettings, host: string, port: string): boolean {
  return noproxy.some((entry) => {
    const [name = '', onlyPort] = entry.trim().toLowerCase().split(':');
    if (onlyPort && onlyPort !== port) return false;
    const suffix = name.replace(/^\*/, '');
    return name === '*' || name === host || (suffix.startsWith('.') && host.endsWith(suffix));
  });
}
