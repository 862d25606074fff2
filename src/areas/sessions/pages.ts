import type { Call } from '../../model/operation';
import { PAGE, pageOf, type Page } from './page';
import { Canceller } from '../../model/cancelling';

/**
 * The pages of one walk over the list, in order. The first two are asked for one after the other: the second shows that `start` is
 * heeded. As long as pages are full, each then begins where the one before ends, whether the appliance counts from 0 or from 1, so
 * that those up to the total can be fetched ahead. After anything else it goes step by step: the next begins after the records had.
 */
export class Pages {
  /** False once the appliance counted fewer than before: sessions ended, and one may have slipped through between two pages. */
  steady = true;
  #counted = 0;
  #taken = 0;
  #stepwise = false;
  #ahead: Promise<Page>[] = [];
  readonly #query: { name?: string };
  readonly #call: Call;
  readonly #window: number;
  readonly #stop = new Canceller();
  readonly #onAbort = (): void => this.#stop.abort();

  constructor(query: { name?: string }, call: Call) {
    this.#query = query;
    this.#call = call;
    // As many again wait for a connection: one that is free has something to do at once.
    this.#window = 2 * call.settings.connections;
    if (call.signal?.aborted) this.#stop.abort();
    call.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** The next page, after so many distinct records. */
  next(had: number): Promise<Page> {
    const ahead = this.#ahead.shift();
    if (ahead) return ahead;
    if (this.#taken > 1 || had !== this.#taken * PAGE) this.#stepwise = true;
    return this.#read(had);
  }

  /** After a page that is not the last: fetches ahead what begins before `until`. */
  fetchAhead(page: Page, until: number): void {
    this.#taken++;
    if (page.records.length !== PAGE) this.#stepwise = true;
    if (this.#stepwise) this.#drop();
    if (this.#stepwise || this.#taken < 2) return;
    while (this.#ahead.length < this.#window && (this.#taken + this.#ahead.length) * PAGE < until) {
      const read = this.#read((this.#taken + this.#ahead.length) * PAGE);
      // It is looked at in its turn, or never.
      read.catch(() => undefined);
      this.#ahead.push(read);
    }
  }

  /** Ends what is under way and will not be needed. */
  end(): void {
    this.#call.signal?.removeEventListener('abort', this.#onAbort);
    this.#drop();
  }

  /** Further reads, one at a time, have the signal of the call itself. */
  #drop(): void {
    if (this.#ahead.length > 0) this.#stop.abort();
    this.#ahead = [];
  }

  /** All in one, of an appliance that knows no `start`. */
  whole(total: number): Promise<Page> {
    return this.#ask({ number: String(total) });
  }

  #read(start: number): Promise<Page> {
    return this.#ask({ number: String(PAGE), start: String(start) });
  }

  async #ask(part: { number: string; start?: string }): Promise<Page> {
    const request = { method: 'GET' as const, path: '/api/v1/system/active-users', query: { ...this.#query, ...part } };
    const page = pageOf(await this.#call.read(request, { signal: this.#stepwise ? undefined : this.#stop }));
    // As they come, which may be another order than that of the pages.
    const counted = page.total ?? this.#counted;
    this.steady &&= counted >= this.#counted;
    this.#counted = counted;
    return page;
  }
}
