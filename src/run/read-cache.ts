import { asGatewayError } from '../model/error';
import type { JsonObject } from '../model/json';

/** Enough for all items that are under way at once; of more, those that were read longest ago are read again. */
const MAX_CACHED_READS = 128;

interface CachedRead {
  readonly run: object;
  readonly response: Promise<JsonObject>;
}

/**
 * What the runs of one gateway have read last, each for itself: whoever stands around a write has to know what was there, and often its run
 * has looked a moment ago. Every write forgets what stands at its place, above and below it.
 */
export class ReadCache {
  readonly #entries = new Map<string, CachedRead>();

  /** What this run has read there; undefined where it has not, or somebody has read or written there since. */
  get(run: object, path: string): Promise<JsonObject> | undefined {
    const cached = this.#entries.get(trimTrailingSlash(path));
    return cached?.run === run ? cached.response : undefined;
  }

  /** A read that begins. That nothing stands there is an answer, too; any other failure is none. */
  set(run: object, path: string, response: Promise<JsonObject>): void {
    const resourcePath = trimTrailingSlash(path);
    const cached = { run, response };
    // Anew at the end: the map is in the order of reading.
    this.#entries.delete(resourcePath);
    this.#entries.set(resourcePath, cached);
    const [first] = this.#entries.keys();
    if (this.#entries.size > MAX_CACHED_READS && first !== undefined) this.#entries.delete(first);
    response.catch((thrown: unknown) => {
      if (asGatewayError(thrown).code !== 'NOT_FOUND' && this.#entries.get(resourcePath) === cached) this.#entries.delete(resourcePath);
    });
  }

  /** Of a read under way too: nobody knows which of the two comes first. */
  invalidate(path: string): void {
    const resourcePath = trimTrailingSlash(path);
    for (const cachedPath of this.#entries.keys())
      if (cachedPath === resourcePath || isBelow(cachedPath, resourcePath) || isBelow(resourcePath, cachedPath))
        this.#entries.delete(cachedPath);
  }

  /** A run is over. */
  clearRun(run: object): void {
    for (const [resourcePath, cached] of this.#entries) if (cached.run === run) this.#entries.delete(resourcePath);
  }
}

function trimTrailingSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

function isBelow(path: string, parentPath: string): boolean {
  return path[parentPath.length] === '/' && path.startsWith(parentPath);
}
