import type { ErrorCode } from '../model/error-codes';
import { toPathTemplate } from './path-template';

/** One exchange as it may be shown to anybody: names in its address are `*`, and nothing of what was sent or answered is in it. */
export interface ExchangeLogEntry {
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
export interface RawLogEntry {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly outcome: number | ErrorCode;
  readonly ms: number;
}

export const MAX_LOGGED_EXCHANGES = 200;
/** Of a longer address only what is shown of it is kept. */
const MAX_RAW_PATH_LENGTH = 1000;

/** The latest exchanges of one gateway, the newest last. */
export class ExchangeLog {
  readonly #prefix: string;
  readonly #entries: RawLogEntry[] = [];
  #next = 0;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  add(method: string, path: string, outcome: number | ErrorCode, ms: number): RawLogEntry {
    const entry = {
      at: Date.now(),
      method,
      path: path.length > MAX_RAW_PATH_LENGTH ? toPathTemplate(path, this.#prefix) : path,
      outcome,
      ms,
    };
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % MAX_LOGGED_EXCHANGES;
    return entry;
  }

  list(): ExchangeLogEntry[] {
    const inOrder =
      this.#entries.length < MAX_LOGGED_EXCHANGES
        ? this.#entries
        : [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
    return inOrder.map((entry) => this.toLogEntry(entry));
  }

  toLogEntry({ at, method, path, outcome, ms }: RawLogEntry): ExchangeLogEntry {
    return {
      at: new Date(at).toISOString(),
      method,
      path: toPathTemplate(path, this.#prefix),
      status: typeof outcome === 'number' ? outcome : null,
      code: typeof outcome === 'number' ? null : outcome,
      ms: Math.round(ms * 10) / 10,
    };
  }
}
