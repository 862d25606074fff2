import type { OperationContext } from '../../model/operation';
import { PAGE_SIZE, parseSessionPage, type SessionPage } from './session-page';
import { LightAbortController } from '../../model/abort';

/**
 * The pages of one walk over the list, in order. The first two are asked for one after the other: the second shows that `start` is
 * heeded. As long as pages are full, each then begins where the one before ends, whether the appliance counts from 0 or from 1, so
 * that those up to the total can be fetched ahead. After anything else it goes step by step: the next begins after the records had.
 */
export class SessionPages {
  /** False once the appliance counted fewer than before: sessions ended, and one may have slipped through between two pages. */
  isSteady = true;
  #latestTotal = 0;
  #takenCount = 0;
  #isStepwise = false;
  #prefetched: Promise<SessionPage>[] = [];
  readonly #query: { name?: string };
  readonly #call: OperationContext;
  readonly #window: number;
  readonly #prefetchCanceller = new LightAbortController();
  readonly #onAbort = (): void => this.#prefetchCanceller.abort();

  constructor(query: { name?: string }, call: OperationContext) {
    this.#query = query;
    this.#call = call;
    // As many again wait for a connection: one that is free has something to do at once.
    this.#window = 2 * call.settings.connections;
    if (call.signal?.aborted) this.#prefetchCanceller.abort();
    call.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** The next page, after so many distinct records. */
  next(seenCount: number): Promise<SessionPage> {
    const prefetchedPage = this.#prefetched.shift();
    if (prefetchedPage) return prefetchedPage;
    if (this.#takenCount > 1 || seenCount !== this.#takenCount * PAGE_SIZE) this.#isStepwise = true;
    return this.#readFrom(seenCount);
  }

  /** After a page that is not the last: fetches ahead what begins before `until`. */
  prefetch(page: SessionPage, endIndex: number): void {
    this.#takenCount++;
    if (page.records.length !== PAGE_SIZE) this.#isStepwise = true;
    if (this.#isStepwise) this.#cancelPrefetch();
    if (this.#isStepwise || this.#takenCount < 2) return;
    while (this.#prefetched.length < this.#window && (this.#takenCount + this.#prefetched.length) * PAGE_SIZE < endIndex) {
      const read = this.#readFrom((this.#takenCount + this.#prefetched.length) * PAGE_SIZE);
      // It is looked at in its turn, or never.
      read.catch(() => undefined);
      this.#prefetched.push(read);
    }
  }

  /** Ends what is under way and will not be needed. */
  end(): void {
    this.#call.signal?.removeEventListener('abort', this.#onAbort);
    this.#cancelPrefetch();
  }

  /** Further reads, one at a time, have the signal of the call itself. */
  #cancelPrefetch(): void {
    if (this.#prefetched.length > 0) this.#prefetchCanceller.abort();
    this.#prefetched = [];
  }

  /** All in one, of an appliance that knows no `start`. */
  readAll(total: number): Promise<SessionPage> {
    return this.#requestPage({ number: String(total) });
  }

  #readFrom(start: number): Promise<SessionPage> {
    return this.#requestPage({ number: String(PAGE_SIZE), start: String(start) });
  }

  async #requestPage(range: { number: string; start?: string }): Promise<SessionPage> {
    const request = { method: 'GET' as const, path: '/api/v1/system/active-users', query: { ...this.#query, ...range } };
    const page = parseSessionPage(await this.#call.read(request, { signal: this.#isStepwise ? undefined : this.#prefetchCanceller }));
    // As they come, which may be another order than that of the pages.
    const total = page.total ?? this.#latestTotal;
    this.isSteady &&= total >= this.#latestTotal;
    this.#latestTotal = total;
    return page;
  }
}
