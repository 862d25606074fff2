import type { OperationContext } from '../../model/operation';
import { SESSIONS_PER_PAGE, parseSessionPage, type SessionPage } from './session-page';
import { LightAbortController } from '../../model/abort';

/** Neighboring pages share this many records, which proves that no session is missing between them. */
export const SESSION_PAGE_OVERLAP = 3;
const PAGE_STEP = SESSIONS_PER_PAGE - SESSION_PAGE_OVERLAP;

/** Reads pages by their start and prefetches the following ones. */
export class SessionPages {
  /** Number of requests, including prefetched pages. */
  requestCount = 0;
  readonly #prefetched = new Map<number, Promise<SessionPage>>();
  readonly #query: { name?: string };
  readonly #call: OperationContext;
  readonly #window: number;
  readonly #prefetchCanceler = new LightAbortController();
  readonly #onAbort = (): void => this.#prefetchCanceler.abort();

  constructor(query: { name?: string }, call: OperationContext) {
    this.#query = query;
    this.#call = call;
    // Twice the connections, so that a free connection always has a request waiting.
    this.#window = 2 * call.settings.connections;
    if (call.signal?.aborted) this.#prefetchCanceler.abort();
    call.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Reads the page at `start`, or returns the prefetched one. */
  read(start: number): Promise<SessionPage> {
    const prefetchedPage = this.#prefetched.get(start);
    this.#prefetched.delete(start);
    return prefetchedPage ?? this.#requestPage({ number: String(SESSIONS_PER_PAGE), start: String(start) });
  }

  /** Keeps a page for a later `read`, without another request. */
  keep(start: number, page: SessionPage): void {
    this.#prefetched.set(start, Promise.resolve(page));
  }

  /** Prefetches the pages after the one at `start` that begin before `endIndex`. */
  prefetch(start: number, endIndex: number): void {
    for (let next = start + PAGE_STEP; next + SESSION_PAGE_OVERLAP < endIndex && this.#prefetched.size < this.#window; next += PAGE_STEP) {
      if (this.#prefetched.has(next)) continue;
      const page = this.#requestPage({ number: String(SESSIONS_PER_PAGE), start: String(next) }, this.#prefetchCanceler);
      // The walk handles the error when it reads this page, or never needs the page.
      page.catch(() => undefined);
      this.#prefetched.set(next, page);
    }
  }

  /** Returns the start of the page that follows a page: the furthest prefetched one that still overlaps it. */
  nextStart(start: number, length: number): number {
    const latest = start + length - Math.min(SESSION_PAGE_OVERLAP, length >> 1);
    const candidates = [...this.#prefetched.keys()].filter((prefetched) => prefetched > start && prefetched <= latest);
    return candidates.length > 0 ? Math.max(...candidates) : latest;
  }

  /** Reads all records at once, for an appliance that ignores `start`. */
  readAll(count: number): Promise<SessionPage> {
    return this.#requestPage({ number: String(count) });
  }

  /** Cancels prefetched pages that are not needed. */
  end(): void {
    this.#call.signal?.removeEventListener('abort', this.#onAbort);
    if (this.#prefetched.size > 0) this.#prefetchCanceler.abort();
    this.#prefetched.clear();
  }

  async #requestPage(range: { number: string; start?: string }, signal?: LightAbortController): Promise<SessionPage> {
    this.requestCount++;
    const request = { method: 'GET' as const, path: '/api/v1/system/active-users', query: { ...this.#query, ...range } };
    return parseSessionPage(await this.#call.read(request, { signal }));
  }
}
