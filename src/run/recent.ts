import { asGatewayError } from '../model/error';
import type { JsonObject } from '../model/json';

/** Enough for all items that are under way at once; of more, those that were read longest ago are read again. */
const MOST = 128;

interface Known {
  readonly by: object;
  readonly answer: Promise<JsonObject>;
}

/**
 * What the runs of one gateway have read last, each for itself: whoever stands around a write has to know what was there, and often its run
 * has looked a moment ago. Every write forgets what stands at its place, above and below it.
 */
export class Recent {
  readonly #known = new Map<string, Known>();

  /** What this run has read there; undefined where it has not, or somebody has read or written there since. */
  of(by: object, path: string): Promise<JsonObject> | undefined {
    const known = this.#known.get(placeOf(path));
    return known?.by === by ? known.answer : undefined;
  }

  /** A read that begins. That nothing stands there is an answer, too; any other failure is none. */
  keep(by: object, path: string, answer: Promise<JsonObject>): void {
    const place = placeOf(path);
    const known = { by, answer };
    // Anew at the end: the map is in the order of reading.
    this.#known.delete(place);
    this.#known.set(place, known);
    const [first] = this.#known.keys();
    if (this.#known.size > MOST && first !== undefined) this.#known.delete(first);
    answer.catch((thrown: unknown) => {
      if (asGatewayError(thrown).code !== 'NOT_FOUND' && this.#known.get(place) === known) this.#known.delete(place);
    });
  }

  /** Of a read under way too: nobody knows which of the two comes first. */
  forget(path: string): void {
    const place = placeOf(path);
    for (const one of this.#known.keys()) if (one === place || isBelow(one, place) || isBelow(place, one)) this.#known.delete(one);
  }

  /** A run is over. */
  leave(by: object): void {
    for (const [place, known] of this.#known) if (known.by === by) this.#known.delete(place);
  }
}

function placeOf(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

function isBelow(place: string, above: string): boolean {
  return place[above.length] === '/' && place.startsWith(above);
}
