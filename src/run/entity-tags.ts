import { CONFIGURATION_ROOT } from '../model/path';
import type { Request } from '../model/request';

/** A weak tag cannot be compared with If-Match. */
const STRONG_TAG = /^"[\x21\x23-\x7e]{1,1000}"$/;

/**
 * The ETags of the resources that a run has read. A write of such a resource is sent with `If-Match`, so the appliance refuses it if
 * somebody else has changed the resource since.
 */
export class EntityTags {
  readonly #tags = new Map<string, string>();

  recordRead(request: Request, status: number, etag: string | undefined): void {
    if (request.method !== 'GET' || !isPlainResource(request)) return;
    const path = trimTrailingSlash(request.path);
    if (status === 200 && etag !== undefined && STRONG_TAG.test(etag)) this.#tags.set(path, etag);
    else this.#tags.delete(path);
  }

  headersFor(request: Request): Readonly<Record<string, string>> | undefined {
    if ((request.method !== 'PUT' && request.method !== 'DELETE') || !isPlainResource(request)) return undefined;
    const etag = this.#tags.get(trimTrailingSlash(request.path));
    return etag === undefined ? undefined : { 'if-match': etag };
  }

  /** Forgets the tags that a write may have changed: of the resource, above it and below it. */
  recordWrite({ path }: Request): void {
    const written = trimTrailingSlash(path);
    for (const tagged of this.#tags.keys())
      if (`${tagged}/`.startsWith(`${written}/`) || `${written}/`.startsWith(`${tagged}/`)) this.#tags.delete(tagged);
  }
}

function isPlainResource({ path, query, rawQuery }: Request): boolean {
  return !query && !rawQuery && path.startsWith(`${CONFIGURATION_ROOT}/`);
}

function trimTrailingSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}
