import { createHash } from 'node:crypto';
import type { Reply } from '../http/exchange';
import { GatewayError } from '../model/error';
import { CONFIGURATION_ROOT } from '../model/path';
import type { Request } from '../model/request';

/** Matches a strong tag, because a weak one cannot be used with If-Match. */
const STRONG_TAG = /^"[\x21\x23-\x7e]{1,1000}"$/;

/** What all runs of a gateway know about the ETags of the appliance. */
export class EntityTagSupport {
  /** Whether the tags are usable. They are not once an unchanged resource had another tag: then `If-Match` would refuse every write. */
  isUsable = true;
}

interface TaggedRead {
  readonly tag: string;
  /** Hash of the body. */
  readonly digest: string;
}

/**
 * The ETags of the resources that a run has read. A write of such a resource is sent with `If-Match`, so the appliance refuses it if
 * somebody else has changed the resource since.
 */
export class EntityTags {
  readonly #reads = new Map<string, TaggedRead>();
  readonly #support: EntityTagSupport;

  constructor(support: EntityTagSupport) {
    this.#support = support;
  }

  /** Compares two reads in a row. The same body with different tags shows that the tags of the appliance are not usable. */
  recordRead(request: Request, { status, etag, body, streamed }: Pick<Reply, 'status' | 'etag' | 'body' | 'streamed'>): void {
    if (request.method !== 'GET' || !isPlainResource(request) || streamed) return;
    const path = trimTrailingSlash(request.path);
    const previous = this.#reads.get(path);
    this.#reads.delete(path);
    if (status !== 200 || etag === undefined || !STRONG_TAG.test(etag)) return;
    const digest = createHash('sha256').update(body.bytes()).digest('base64');
    if (previous && previous.tag !== etag && previous.digest === digest) this.#support.isUsable = false;
    this.#reads.set(path, { tag: etag, digest });
  }

  headersFor(request: Request): Readonly<Record<string, string>> | undefined {
    if (!this.#support.isUsable || (request.method !== 'PUT' && request.method !== 'DELETE') || !isPlainResource(request)) return undefined;
    const read = this.#reads.get(trimTrailingSlash(request.path));
    return read && { 'if-match': read.tag };
  }

  /** Forgets the tags that a write may have changed: those of the resource, above it and below it. */
  recordWrite({ path }: Request): void {
    const written = trimTrailingSlash(path);
    for (const tagged of this.#reads.keys())
      if (`${tagged}/`.startsWith(`${written}/`) || `${written}/`.startsWith(`${tagged}/`)) this.#reads.delete(tagged);
  }

  /**
   * Returns the error of a write that the appliance refused with 412. `readAgain` reads the resource: if it is as it was read before,
   * nobody has changed it, and the tag is to blame.
   */
  async explainRefusal(request: Request, error: GatewayError, readAgain: (request: Request) => Promise<unknown>): Promise<GatewayError> {
    if (error.details.status !== 412 || !this.headersFor(request)) return error;
    // A failed read leaves the reason open.
    await readAgain({ method: 'GET', path: trimTrailingSlash(request.path) }).catch(() => undefined);
    if (this.#support.isUsable) return error;
    return new GatewayError(
      'CONFLICT',
      'The appliance refused the write (412) although nobody has changed the resource: its ETag is another one in each response. Nothing was written. ETags of this appliance are no longer used. Run it again.',
      error.details,
    );
  }
}

function isPlainResource({ path, query, rawQuery }: Request): boolean {
  return !query && !rawQuery && path.startsWith(`${CONFIGURATION_ROOT}/`);
}

function trimTrailingSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}
