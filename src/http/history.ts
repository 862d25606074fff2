import type { ErrorCode } from '../model/error-codes';
import { pathTemplate } from './path-template';

/** One exchange as it may be shown to anybody: names in its address are `*`, and nothing of what was sent or answered is in it. */
export interface Exchanged {
  /** ISO time of its end. */
  readonly at: string;
  readonly method: string;
  /** Words of the interface, `*` for the rest. */
  readonly path: string;
  /** Null where no answer came. */
  readonly status: number | null;
  /** What ended it without an answer. */
  readonly code: ErrorCode | null;
  /** Milliseconds, once it had a connection. */
  readonly ms: number;
}

/** The same as it is noted, which has to cost next to nothing. */
export interface Noted {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly ended: number | ErrorCode;
  readonly ms: number;
}

export const MOST_EXCHANGES = 200;
/** Of a longer address only what is shown of it is kept. */
const LONG = 1000;

/** The latest exchanges of one gateway, the newest last. */
export class History {
  readonly #prefix: string;
  readonly #noted: Noted[] = [];
  #next = 0;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  add(method: string, path: string, ended: number | ErrorCode, ms: number): Noted {
    const noted = { at: Date.now(), method, path: path.length > LONG ? pathTemplate(path, this.#prefix) : path, ended, ms };
    this.#noted[this.#next] = noted;
    this.#next = (this.#next + 1) % MOST_EXCHANGES;
    return noted;
  }

  list(): Exchanged[] {
    const inOrder =
      this.#noted.length < MOST_EXCHANGES ? this.#noted : [...this.#noted.slice(this.#next), ...this.#noted.slice(0, this.#next)];
    return inOrder.map((noted) => this.shown(noted));
  }

  shown({ at, method, path, ended, ms }: Noted): Exchanged {
    return {
      at: new Date(at).toISOString(),
      method,
      path: pathTemplate(path, this.#prefix),
      status: typeof ended === 'number' ? ended : null,
      code: typeof ended === 'number' ? null : ended,
      ms: Math.round(ms * 10) / 10,
    };
  }
}
