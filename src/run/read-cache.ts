import { asGatewayError } from '../model/error';
import type { JsonObject } from '../model/json';

/** Maximum number of cached reads, enough for all items in flight. Above it, the oldest read is dropped and repeated when needed. */
const MAX_CACHED_READS = 128;

interface CachedRead {
  readonly run: object;
  readonly response: Promise<JsonObject>;
}

/**
 * Recent reads of the runs of one gateway, each visible to its own run only. Write interceptors need the state before a write, and the run
 * has often read it just before. A write drops the reads of its path, above it and below it.
 */
export class ReadCache {
  readonly #entries = new Map<string, CachedRead>();

  /** The run's read of a path; undefined when there is none, or another run has read or written there since. */
  get(run: object, path: string): Promise<JsonObject> | undefined {
    const cached = this.#entries.get(trimTrailingSlash(path));
    return cached?.run === run ? cached.response : undefined;
  }

  /** Stores a read that has started. `NOT_FOUND` stays cached; any other failure is dropped. */
  set(run: object, path: string, response: Promise<JsonObject>): void {
    const resourcePath = trimTrailingSlash(path);
    const cached = { run, response };
    // Deleting first moves the path to the end: the map is in the order of reading.
    this.#entries.delete(resourcePath);
    this.#entries.set(resourcePath, cached);
    const [first] = this.#entries.keys();
    if (this.#entries.size > MAX_CACHED_READS && first !== undefined) this.#entries.delete(first);
    response.catch((thrown: unknown) => {
      if (asGatewayError(thrown).code !== 'NOT_FOUND' && this.#entries.get(resourcePath) === cached) this.#entries.delete(resourcePath);
    });
  }

  /** Also drops a pending read, because the order of the two at the appliance is unknown. */
  invalidate(path: string): void {
    const resourcePath = trimTrailingSlash(path);
    for (const cachedPath of this.#entries.keys())
      if (cachedPath === resourcePath || isBelow(cachedPath, resourcePath) || isBelow(resourcePath, cachedPath))
        this.#entries.delete(cachedPath);
  }

  /** Drops the reads of a finished run. */
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
