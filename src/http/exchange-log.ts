import type { ErrorCode } from '../model/error-codes';
import { toPathTemplate } from './path-template';

/** One exchange without names, credentials or content, safe to show to anyone. */
export interface ExchangeLogEntry {
  /** End of the exchange, as ISO 8601. */
  readonly at: string;
  readonly method: string;
  /** Interface words; every other path segment is `*`. */
  readonly path: string;
  /** Status of the response; null when no response arrived. */
  readonly status: number | null;
  /** Error that ended the exchange without a response. */
  readonly code: ErrorCode | null;
  /** Milliseconds since the exchange got its connection. */
  readonly ms: number;
}

/** The stored form of an entry; converting it later keeps each request cheap. */
interface RawLogEntry {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly outcome: number | ErrorCode;
  readonly ms: number;
}

export const MAX_LOGGED_EXCHANGES = 200;
/** Maximum length of a stored path. Longer paths are stored as templates to limit the memory. */
const MAX_RAW_PATH_LENGTH = 1000;

/** The latest exchanges of one gateway, oldest first. */
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
