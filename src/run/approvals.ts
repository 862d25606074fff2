import { randomUUID } from 'node:crypto';
import type { Cancellable } from '../model/cancelling';
import { badInput, GatewayError } from '../model/error';
import { ours, sentence } from '../model/sentence';
import type { Approved } from './approval';

/** Each holds a message in memory. */
const MOST = 100;
const LONGEST_NAME = 200;

/** One that waits: its id is all that somebody needs to answer it. */
export interface Held {
  readonly id: string;
  /** ISO time. */
  readonly expires: string;
  readonly decision: Promise<Approved>;
}

interface Waiting {
  readonly expires: number;
  readonly settle: (approved: Approved | GatewayError) => void;
}

/** Plans that wait for an answer, each under an id that nobody can guess and that serves one answer. */
export class Approvals {
  readonly #waiting = new Map<string, Waiting>();
  readonly #ms: number;
  readonly #now: () => number;

  constructor(minutes: number, now: () => number = Date.now) {
    this.#ms = minutes * 60_000;
    this.#now = now;
  }

  /** Errors: `LIMIT` when too many wait already; the decision's are `DECLINED` and `EXPIRED`. A cancelled one is forgotten. */
  hold(signal: Cancellable | undefined): Held {
    if (signal?.aborted) throw new GatewayError('ABORTED', 'Cancelled before anybody was asked to approve it.', { sent: false });
    if (this.#waiting.size >= MOST) {
      throw new GatewayError('LIMIT', `${MOST} messages wait here to be approved: answer some of them first. Nothing was changed.`, {
        sent: false,
      });
    }
    const id = randomUUID();
    const expires = this.#now() + this.#ms;
    const decision = new Promise<Approved>((resolve, reject) => {
      const timer = setTimeout(() => this.#take(id)?.settle(expired()), this.#ms);
      const forget = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        signal?.removeEventListener('abort', forget);
      };
      const settle: Waiting['settle'] = (outcome) => {
        forget();
        if (outcome instanceof GatewayError) reject(outcome);
        else resolve(outcome);
      };
      this.#waiting.set(id, { expires, settle });
      signal?.addEventListener('abort', forget, { once: true });
    });
    // Whoever was cancelled does not wait for it any more.
    decision.catch(() => undefined);
    return { id, expires: new Date(expires).toISOString(), decision };
  }

  /** Errors: `BAD_INPUT` for an id that nothing waits under: it is unknown, was answered already or has expired. */
  approve(id: unknown, by: unknown): void {
    this.#answered(id, 'approve').settle(this.#decided(by));
  }

  /** The same; what waits ends with `DECLINED`. */
  reject(id: unknown, by: unknown): void {
    const declined = this.#decided(by);
    const who = declined.by === null ? ours('') : sentence` by ${declined.by}`;
    const error = new GatewayError('DECLINED', sentence`The change was declined${who}: nothing was changed.`, {
      sent: false,
      extra: { declined },
    });
    this.#answered(id, 'reject').settle(error);
  }

  #answered(id: unknown, property: 'approve' | 'reject'): Waiting {
    if (typeof id !== 'string' || id === '')
      throw badInput(sentence`msg.${ours(property)} has to be the id of the plan, as it left this node: a text.`);
    const waiting = this.#take(id);
    if (waiting && this.#now() < waiting.expires) return waiting;
    // A timer is late where the machine slept.
    waiting?.settle(expired());
    throw badInput(
      sentence`Nothing waits here for the id in msg.${ours(property)}: it was answered already, has expired, or is not of this node. Nothing was changed.`,
    );
  }

  #take(id: string): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #decided(by: unknown): Approved {
    const name = typeof by === 'string' ? by.slice(0, LONGEST_NAME) : '';
    return { by: name === '' ? null : name, at: new Date(this.#now()).toISOString() };
  }
}

function expired(): GatewayError {
  return new GatewayError('EXPIRED', 'Nobody approved the change in time: nothing was changed.', { sent: false });
}
