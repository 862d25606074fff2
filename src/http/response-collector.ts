import type { Dispatcher } from 'undici';
import { LISTEN_ONCE } from '../model/abort';
import { GatewayError } from '../model/error';
import { trusted, safeMessage } from '../model/safe-message';
import type { Sink } from '../model/stream';
import { ResponseBody } from './response-body';
import { REUSE_DELAY_TICKS, type ResponseHandler } from './connection-pool';
import { MAX_RESPONSE_BYTES, MemoryReservation, responseTooLarge, responseMemoryExhausted } from './response-memory';
import type { Expirable } from './deadline-timer';
import { toNetworkError, plainHttpRejected, type ExchangeStage } from './network-error';
import type { Exchange, Reply } from './exchange';
import { afterEventLoopTicks } from './event-loop-ticks';

type Headers = Record<string, string | string[] | undefined>;

/** Reading an answer from this length on takes longer than all else there is to do for its connection. */
const LARGE_BODY_BYTES = 16 * 1024;

/** The appliance, as far as one answer is concerned. */
export interface EndpointState {
  /** For the words of errors: whoever cannot connect has to know to what. */
  readonly host: string;
  readonly isPlainHttp: boolean;
  /** When the appliance last answered anything. */
  lastResponseAt: number;
  /** What its clock was then, as it says. */
  lastDateHeader: string | undefined;
}

/** Collects one answer. It learns from undici when the first byte is about to leave, which decides what a fault means for a write. */
export class ResponseCollector implements ResponseHandler, Expirable {
  index = 0;
  /** When it had a connection; until then, when it was wanted. */
  startedAt: number;
  deadline: number;
  #stage: ExchangeStage = 'connecting';
  isSettled = false;
  onDone = (): void => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: Headers = {};
  #bytes = 0;
  #sink: Sink | undefined;
  /** Whether the sink wants to wait. */
  #isPaused = false;
  readonly #body = new ResponseBody();
  readonly #reservation = new MemoryReservation();
  readonly #onAbort = (): void => this.abort();

  constructor(
    readonly exchange: Exchange,
    readonly endpoint: EndpointState,
    readonly timeoutSeconds: number,
    readonly settle: (error: GatewayError | undefined, reply?: Reply) => void,
  ) {
    this.startedAt = performance.now();
    this.deadline = this.startedAt + timeoutSeconds * 1000;
    exchange.signal?.addEventListener('abort', this.#onAbort, LISTEN_ONCE);
  }

  expire(): void {
    const timeoutMs = this.timeoutSeconds * 1000;
    // Waiting for a connection is no part of the exchange, as long as the appliance answers those before this one.
    if (this.#stage === 'connecting' && this.endpoint.lastResponseAt + timeoutMs > performance.now())
      this.deadline = this.endpoint.lastResponseAt + timeoutMs;
    else this.#fail(this.#timeoutError());
  }

  abort(): void {
    this.#fail(abortedError(this.#stage !== 'connecting'));
  }

  finishEarly(): void {
    if (this.#isPaused) this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Aborted while it waited for a free connection: take it back before a byte leaves.
    if (this.isSettled) {
      controller.abort(abortedError(false));
      return;
    }
    this.#controller = controller;
    this.#stage = 'waiting';
    this.startedAt = performance.now();
    this.deadline = this.startedAt + this.timeoutSeconds * 1000;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // 1xx is not an answer.
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
    else if ((total ?? 0) > MAX_RESPONSE_BYTES) this.#fail(responseTooLarge(this.endpoint.host));
  }

  #stream(sink: Sink, controller: Dispatcher.DispatchController, total: number | undefined): void {
    this.#sink = sink;
    sink.start(total, {
      pause: () => {
        this.#isPaused = true;
        controller.pause();
      },
      resume: () => {
        this.#isPaused = false;
        controller.resume();
      },
      fail: (error) => this.#fail(error),
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // undici goes on after a pause with a chunk of nothing.
    if (this.isSettled || chunk.length === 0) return;
    // Neither XML nor base64 begins with a brace: that is a message of the appliance, whatever type it is said to have.
    if (this.#sink && this.#bytes === 0 && startsLikeJson(chunk)) this.#sink = undefined;
    this.#bytes += chunk.length;
    if (this.#sink && !this.#sink.isBuffering) this.#sink.write(chunk);
    else if (this.#bytes > MAX_RESPONSE_BYTES) this.#fail(responseTooLarge(this.endpoint.host));
    else if (!this.#reservation.tryReserve(chunk.length)) this.#fail(responseMemoryExhausted(this.endpoint.host));
    else if (this.#sink) this.#sink.write(chunk);
    else this.#body.add(chunk);
    if (this.#isPaused) controller.pause();
  }

  onResponseEnd(): void {
    this.onDone();
    // It is all there; the time limit has nothing more to say.
    this.deadline = Infinity;
    const settleWithReply = (): void => this.#settle(undefined, this.#reply());
    if (this.endpoint.isPlainHttp && this.#status === 400 && /plain HTTP/i.test(this.#body.text()))
      this.#settle(plainHttpRejected(this.endpoint.host));
    else if (this.#bytes < LARGE_BODY_BYTES || this.#sink) settleWithReply();
    // The next request on this connection goes out before: the appliance works meanwhile, which makes half as many pages again.
    else afterEventLoopTicks(REUSE_DELAY_TICKS + 1, settleWithReply);
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: unknown): void {
    this.onDone();
    const { host, isPlainHttp, lastResponseAt } = this.endpoint;
    // What has answered plain HTTP before is no HTTPS port.
    const mayBeTls = isPlainHttp && lastResponseAt === -Infinity;
    this.#settle(error instanceof GatewayError ? error : toNetworkError(error, this.#stage, host, mayBeTls));
  }

  #reply(): Reply {
    const reply: Reply = {
      status: this.#status,
      contentType: singleValue(this.#headers['content-type']) ?? '',
      retryAfter: singleValue(this.#headers['retry-after']),
      body: this.#body,
    };
    if (this.#sink) reply.streamed = true;
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
    this.exchange.signal?.removeEventListener('abort', this.#onAbort);
    this.settle(error, reply);
  }

  #timeoutError(): GatewayError {
    const description = {
      connecting: 'no connection was free or could be opened',
      waiting: 'it did not answer',
      answering: 'its answer did not end',
    };
    const message = safeMessage`${trusted(this.endpoint.host)}: ${trusted(description[this.#stage])} within ${this.timeoutSeconds} s. Raise the time limit in the appliance settings if that is usual for it.`;
    return new GatewayError('TIMEOUT', message, { sent: this.#stage !== 'connecting' });
  }
}

function singleValue(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}

function startsLikeJson(chunk: Buffer): boolean {
  return chunk.toString('latin1', 0, 64).trimStart().startsWith('{');
}

export function abortedError(sent: boolean): GatewayError {
  return new GatewayError('ABORTED', 'Cancelled before it was done.', { sent });
}
