import type { Dispatcher } from 'undici';
import { LISTEN_ONCE_OPTION } from '../model/abort';
import { GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import { trusted, safeMessage } from '../model/safe-message';
import type { Sink } from '../model/stream';
import { ResponseBody } from './response-body';
import { afterEventLoopTicks, REUSE_DELAY_TICKS, type ResponseHandler, type ConnectionEnd } from './connection-pool';
import { MAX_RESPONSE_BYTES, MemoryReservation, createResponseTooLargeError, createResponseMemoryError } from './response-memory';
import type { DeadlineItem } from './deadline-timer';
import { toNetworkError, createPlainHttpError, type ExchangeStage } from './network-error';
import type { Exchange, Reply } from './exchange';

type Headers = Record<string, string | string[] | undefined>;

/** Size from which parsing a body takes longer than all other work for its connection. */
const LARGE_BODY_BYTES = 16 * 1024;

/** The address and the latest response of one appliance, shared by all exchanges with it. */
export interface ApplianceEndpoint {
  /** Host and port for error messages. */
  readonly host: string;
  readonly isPlainHttp: boolean;
  /** Host and port of the proxy. Undefined for a direct connection. */
  readonly proxy?: string | undefined;
  /** Time of the latest response, as `performance.now()` in milliseconds. */
  lastResponseAt: number;
  /** Date header of the latest response. */
  lastDateHeader: string | undefined;
}

/** Collects one response. undici reports when the first byte is about to leave; this decides whether a failed write is unknown. */
export class ResponseCollector implements ResponseHandler, DeadlineItem {
  index = 0;
  /** When the exchange got its connection; before that, when it was requested. */
  startedAt: number;
  deadline: number;
  #stage: ExchangeStage = 'connecting';
  isSettled = false;
  onDone: () => void = doNothing;
  /** Whether a connection is reserved for the exchange, even if it still has to be opened. */
  hasConnection = false;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: Headers = {};
  #bytes = 0;
  #sink: Sink | undefined;
  /** Whether the sink has paused the response. */
  #isPaused = false;
  /** The way in which the connection ended; undefined while it is open. */
  #end: Promise<ConnectionEnd> | undefined;
  readonly #body = new ResponseBody();
  readonly #reservation = new MemoryReservation();
  #onAbort: (() => void) | undefined;

  constructor(
    readonly exchange: Exchange,
    readonly endpoint: ApplianceEndpoint,
    readonly timeoutSeconds: number,
    readonly onSettled: (collector: ResponseCollector, outcome: number | ErrorCode) => void,
    readonly resolve: (reply: Reply) => void,
    readonly reject: (error: GatewayError) => void,
  ) {
    this.startedAt = performance.now();
    this.deadline = this.startedAt + timeoutSeconds * 1000;
    if (exchange.signal) {
      // V8 allocates a function that is assigned directly to a property as a long-lived object, which keeps each exchange alive.
      const onAbort = (): void => this.abort();
      this.#onAbort = onAbort;
      exchange.signal.addEventListener('abort', onAbort, LISTEN_ONCE_OPTION);
    }
  }

  expire(): void {
    const timeoutMs = this.timeoutSeconds * 1000;
    // Waiting for a connection does not count while the appliance answers other requests.
    if (this.#stage === 'connecting' && this.endpoint.lastResponseAt + timeoutMs > performance.now())
      this.deadline = this.endpoint.lastResponseAt + timeoutMs;
    else this.#fail(this.#timeoutError());
  }

  abort(): void {
    this.#fail(createAbortedError(this.#stage !== 'connecting'));
  }

  finishEarly(end: Promise<ConnectionEnd>): void {
    this.#end = end;
    if (this.#isPaused) this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The caller aborted while the request waited for a connection, so no byte may leave.
    if (this.isSettled) {
      controller.abort(createAbortedError(false));
      return;
    }
    this.#controller = controller;
    this.#stage = 'waiting';
    this.startedAt = performance.now();
    this.deadline = this.startedAt + this.timeoutSeconds * 1000;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // 1xx responses are interim.
    if (status < 200 || this.isSettled) return;
    this.endpoint.lastResponseAt = performance.now();
    this.endpoint.lastDateHeader = singleValue(headers['date']);
    this.#stage = 'answering';
    this.#status = status;
    this.#headers = headers;
    const length = singleValue(headers['content-length']);
    const total = length ? Number(length) : undefined;
    const { sink } = this.exchange;
    if (sink && status < 300) this.#stream(sink, controller, total);
    else if ((total ?? 0) > MAX_RESPONSE_BYTES) this.#fail(createResponseTooLargeError(this.endpoint.host));
  }

  #stream(sink: Sink, controller: Dispatcher.DispatchController, total: number | undefined): void {
    this.#sink = sink;
    sink.start(
      total,
      {
        pause: () => {
          this.#isPaused = true;
          controller.pause();
        },
        resume: () => {
          this.#isPaused = false;
          controller.resume();
        },
        fail: (error) => this.#fail(error),
      },
      this.#hasUnverifiedEnd(),
    );
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // undici resumes a paused response with an empty chunk.
    if (this.isSettled || chunk.length === 0) return;
    // Neither XML nor base64 starts with a brace, so this is a message of the appliance, whatever its content type.
    if (this.#sink && this.#bytes === 0 && startsLikeJson(chunk)) this.#sink = undefined;
    this.#bytes += chunk.length;
    if (this.#sink && !this.#sink.isBuffering) this.#sink.write(chunk);
    else if (this.#bytes > MAX_RESPONSE_BYTES) this.#fail(createResponseTooLargeError(this.endpoint.host));
    else if (!this.#reservation.tryReserve(chunk.length)) this.#fail(createResponseMemoryError(this.endpoint.host));
    else if (this.#sink) this.#sink.write(chunk);
    else this.#body.add(chunk);
    if (this.#isPaused) controller.pause();
  }

  onResponseEnd(): void {
    this.onDone();
    // The body is complete, so the deadline no longer applies.
    this.deadline = Infinity;
    if (!this.#isDelimitedByEnd()) return this.#complete();
    const cutShort = (): void => this.#settle(toNetworkError(cutError(), 'answering', this.endpoint.host));
    if (!this.#end) cutShort();
    else void this.#end.then((end) => (end === 'finished' ? this.#complete() : cutShort()));
  }

  /** Whether only the end of the connection shows the end of the body. */
  #isDelimitedByEnd(): boolean {
    if (this.#status === 204 || this.#status === 304) return false;
    return this.#headers['content-length'] === undefined && !isChunked(this.#headers['transfer-encoding']);
  }

  #hasUnverifiedEnd(): boolean {
    return !this.endpoint.isPlainHttp && this.#isDelimitedByEnd();
  }

  #complete(): void {
    if (this.endpoint.isPlainHttp && this.#status === 400 && /plain HTTP/i.test(this.#body.text()))
      this.#settle(createPlainHttpError(this.endpoint.host));
    else if (this.#bytes < LARGE_BODY_BYTES || this.#sink) this.#settle(undefined, this.#reply());
    // The next request on this connection leaves first. The appliance then works while this process parses, which yields 50% more pages per
    // second.
    else afterEventLoopTicks(REUSE_DELAY_TICKS + 1, () => this.#settle(undefined, this.#reply()));
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: unknown): void {
    this.onDone();
    const { host, isPlainHttp, lastResponseAt, proxy } = this.endpoint;
    // A port that has answered plain HTTP before is not an HTTPS port.
    const mayBeTls = isPlainHttp && lastResponseAt === -Infinity;
    this.#settle(error instanceof GatewayError ? error : toNetworkError(error, this.#stage, host, mayBeTls, proxy));
  }

  #reply(): Reply {
    const reply: Reply = {
      status: this.#status,
      contentType: singleValue(this.#headers['content-type']) ?? '',
      retryAfter: singleValue(this.#headers['retry-after']),
      body: this.#body,
    };
    const etag = singleValue(this.#headers['etag']);
    if (etag !== undefined) reply.etag = etag;
    if (this.#sink) reply.streamed = true;
    if (this.#hasUnverifiedEnd()) reply.hasUnverifiedEnd = true;
    return reply;
  }

  #fail(error: GatewayError): void {
    this.#settle(error);
    this.#controller?.abort(error);
  }

  #settle(error: GatewayError | undefined, reply?: Reply): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.#reservation.release();
    if (this.#onAbort) this.exchange.signal?.removeEventListener('abort', this.#onAbort);
    this.onSettled(this, reply?.status ?? error?.code ?? 0);
    if (reply) this.resolve(reply);
    else if (error) this.reject(error);
  }

  #timeoutError(): GatewayError {
    const description = {
      connecting: 'no connection was free',
      waiting: 'it did not answer',
      answering: 'its answer did not end',
    };
    if (this.#stage === 'connecting' && this.hasConnection) {
      const words = safeMessage`No answer from ${trusted(this.endpoint.host)}: no connection could be opened within ${this.timeoutSeconds} s. Does a firewall drop the packets? Check address and port.`;
      return new GatewayError('TIMEOUT', words, { sent: false });
    }
    const message = safeMessage`${trusted(this.endpoint.host)}: ${trusted(description[this.#stage])} within ${this.timeoutSeconds} s. If this is normal, raise the request timeout in the appliance settings.`;
    return new GatewayError('TIMEOUT', message, { sent: this.#stage !== 'connecting' });
  }
}

function doNothing(): void {
  // Until a connection is reserved.
}

function singleValue(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}

function isChunked(encoding: string | string[] | undefined): boolean {
  return String(encoding).toLowerCase().includes('chunked');
}

function cutError(): Error {
  return Object.assign(new Error('The connection was reset.'), { code: 'ECONNRESET' });
}

function startsLikeJson(chunk: Buffer): boolean {
  return chunk.toString('latin1', 0, 64).trimStart().startsWith('{');
}

export function createAbortedError(sent: boolean): GatewayError {
  return new GatewayError('ABORTED', 'Canceled before completion.', { sent });
}
