import { asGatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';

/** What may have come too early: it refers to something that is put back later. */
const REFUSED: ReadonlySet<ErrorCode> = new Set(['REJECTED', 'NOT_FOUND', 'INVALID_REQUEST']);

/**
 * Who goes first where several resources are put back at once: each waits for the one that it lies in, and what is refused is tried again
 * when nothing else is left to try, as long as that brings it forward.
 */
export class Turns {
  readonly #ends = new Map<string, () => void>();
  readonly #ended = new Map<string, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  /** So many are worked on at a time; when all of them wait, nobody else comes. */
  readonly #atOnce: number;
  readonly #total: number;
  /** Those that wait for the one that they lie in. */
  #below = 0;
  #over = 0;
  #succeeded = 0;
  #hopeless = false;

  constructor(places: readonly string[], atOnce: number) {
    for (const place of places) this.#ended.set(place, new Promise((resolve) => this.#ends.set(place, resolve)));
    this.#total = places.length;
    this.#atOnce = atOnce;
  }

  async take(place: string, work: () => Promise<void>): Promise<void> {
    await this.#above(place);
    try {
      await this.#try(work);
      this.#succeeded++;
    } finally {
      this.#over++;
      this.#ends.get(place)?.();
      this.#next();
    }
  }

  async #try(work: () => Promise<void>): Promise<void> {
    const succeeded = this.#succeeded;
    try {
      await work();
    } catch (thrown) {
      // Of others like it, whoever works on them may not even begin.
      if (!REFUSED.has(asGatewayError(thrown).code)) this.#hopeless = true;
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        this.#next();
      });
      if (this.#hopeless || this.#succeeded === succeeded) throw thrown;
      await this.#try(work);
    }
  }

  #next(): void {
    if (this.#hopeless) for (const go of this.#waiting.splice(0)) go();
    const idle = this.#waiting.length + this.#below;
    if (this.#over + idle === this.#total || idle >= this.#atOnce) this.#waiting.shift()?.();
  }

  async #above(place: string): Promise<void> {
    for (let end = place.lastIndexOf('/'); end > 0; end = place.lastIndexOf('/', end - 1)) {
      const above = this.#ended.get(place.slice(0, end));
      if (!above) continue;
      this.#below++;
      this.#next();
      await above;
      this.#below--;
      return;
    }
  }
}
