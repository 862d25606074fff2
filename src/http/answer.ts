import type { Dispatcher } from 'undici';
import { ONCE } from '../model/cancelling';
import { GatewayError } from '../model/error';
import { ours, sentence } from '../model/sentence';
import type { Sink } from '../model/stream';
import { Body } from './body';
import { REST_TURNS, type Tenant } from './connections';
import { MOST_BYTES, Share, tooLong, tooMuchAtOnce } from './budget';
import type { Bounded } from './deadlines';
import { networkFault, plainToTls, type Stage } from './faults';
import type { Exchange, Reply } from './exchange';
import { afterTurns } from './turns';

type Headers = Record<string, string | string[] | undefined>;

/** Reading an answer from this length on takes longer than all else there is to do for its connection. */
const LONG_BYTES = 16 * 1024;

/** The appliance, as far as one answer is concerned. */
export interface Origin {
  /** For the words of errors: whoever cannot connect has to know to what. */
  readonly host: string;
  readonly plain: boolean;
  /** When the appliance last answered anything. */
  answeredAt: number;
  /** What its clock was then, as it says. */
  date: string | undefined;
}

/** Collects one answer. It learns from undici when the first byte is about to leave, which decides what a fault means for a write. */
export class Answer implements Tenant, Bounded {
  index = 0;
  /** When it had a connection; until then, when it was wanted. */
  started: number;
  deadline: number;
  #stage: Stage = 'connecting';
  settled = false;
  onOver = (): void => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: Headers = {};
  #bytes = 0;
  #sink: Sink | undefined;
  /** Whether the sink wants to wait. */
  #held = false;
  readonly #body = new Body();
  readonly #share = new Share();
  readonly #onAbort = (): void => this.abort();

  constructor(
    readonly exchange: Exchange,
    readonly origin: Origin,
    readonly seconds: number,
    readonly settle: (error: GatewayError | undefined, reply?: Reply) => void,
  ) {
    this.started = performance.now();
    this.deadline = this.started + seconds * 1000;
    exchange.signal?.addEventListener('abort', this.#onAbort, ONCE);
  }

  expire(): void {
    const limit = this.seconds * 1000;
    // Waiting for a connection is no part of the exchange, as long as the appliance answers those before this one.
    if (this.#stage === 'connecting' && this.origin.answeredAt + limit > performance.now()) this.deadline = this.origin.answeredAt + limit;
    else this.#fail(this.#timeout());
  }

  abort(): void {
    this.#fail(aborted(this.#stage !== 'connecting'));
  }

  letGo(): void {
    if (this.#held) this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Aborted while it waited for a free connection: take it back before a byte leaves.
    if (this.settled) {
      controller.abort(aborted(false));
      return;
    }
    this.#controller = controller;
    this.#stage = 'waiting';
    this.started = performance.now();
    this.deadline = this.started + this.seconds * 1000;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // 1xx is not an answer.
    if (status < 200 || this.settled) return;
    this.origin.answeredAt = performance.now();
    this.origin.date = single(headers['date']);
    this.#stage = 'answering';
    this.#status = status;
    this.#headers = headers;
    const length = single(headers['content-length']);
    const total = length ? Number(length) : undefined;
    const { sink } = this.exchange;
    if (sink && status < 300) this.#stream(sink, controller, total);
    else if ((total ?? 0) > MOST_BYTES) this.#fail(tooLong(this.origin.host));
  }

  #stream(sink: Sink, controller: Dispatcher.DispatchController, total: number | undefined): void {
    this.#sink = sink;
    sink.start(total, {
      pause: () => {
        this.#held = true;
        controller.pause();
      },
      resume: () => {
        this.#held = false;
        controller.resume();
      },
      fail: (error) => this.#fail(error),
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // undici goes on after a pause with a chunk of nothing.
    if (this.settled || chunk.length === 0) return;
    // Neither XML nor base64 begins with a brace: that is a message of the appliance, whatever type it is said to have.
    if (this.#sink && this.#bytes === 0 && isJson(chunk)) this.#sink = undefined;
    this.#bytes += chunk.length;
    if (this.#sink && !this.#sink.keeps) this.#sink.write(chunk);
    else if (this.#bytes > MOST_BYTES) this.#fail(tooLong(this.origin.host));
    else if (!this.#share.add(chunk.length)) this.#fail(tooMuchAtOnce(this.origin.host));
    else if (this.#sink) this.#sink.write(chunk);
    else this.#body.add(chunk);
    if (this.#held) controller.pause();
  }

  onResponseEnd(): void {
    this.onOver();
    // It is all there; the time limit has nothing more to say.
    this.deadline = Infinity;
    const settle = (): void => this.#settle(undefined, this.#reply());
    if (this.origin.plain && this.#status === 400 && /plain HTTP/i.test(this.#body.text())) this.#settle(plainToTls(this.origin.host));
    else if (this.#bytes < LONG_BYTES || this.#sink) settle();
    // The next request on this connection goes out before: the appliance works meanwhile, which makes half as many pages again.
    else afterTurns(REST_TURNS + 1, settle);
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: unknown): void {
    this.onOver();
    const { host, plain, answeredAt } = this.origin;
    // What has answered plain HTTP before is no HTTPS port.
    const mayBeTls = plain && answeredAt === -Infinity;
    this.#settle(error instanceof GatewayError ? error : networkFault(error, this.#stage, host, mayBeTls));
  }

  #reply(): Reply {
    const reply: Reply = {
      status: this.#status,
      contentType: single(this.#headers['content-type']) ?? '',
      retryAfter: single(this.#headers['retry-after']),
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
    if (this.settled) return;
    this.settled = true;
    this.#share.giveBack();
    this.exchange.signal?.removeEventListener('abort', this.#onAbort);
    this.settle(error, reply);
  }

  #timeout(): GatewayError {
    const what = {
      connecting: 'no connection was free or could be opened',
      waiting: 'it did not answer',
      answering: 'its answer did not end',
    };
    const words = sentence`${ours(this.origin.host)}: ${ours(what[this.#stage])} within ${this.seconds} s. Raise the time limit in the appliance settings if that is usual for it.`;
    return new GatewayError('TIMEOUT', words, { sent: this.#stage !== 'connecting' });
  }
}

function single(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}

function isJson(chunk: Buffer): boolean {
  return chunk.toString('latin1', 0, 64).trimStart().startsWith('{');
}

export function aborted(sent: boolean): GatewayError {
  return new GatewayError('ABORTED', 'Cancelled before it was done.', { sent });
}
