import { createHash } from 'node:crypto';
import { isObject } from './json';

/** The digest of a buffer is computed once, because thousands of appliances share the same CA. */
const digests = new WeakMap<Buffer, string>();

/** Replaces the buffers in a value by their digests, for a text that is hashed. As JSON, a buffer would be a list of all its bytes. */
export function replaceBuffersByDigests(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return { sha256: digestBuffer(value) };
  if (Array.isArray(value)) return value.map(replaceBuffersByDigests);
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, replaceBuffersByDigests(item)])) : value;
}

function digestBuffer(buffer: Buffer): string {
  let digest = digests.get(buffer);
  if (digest === undefined) {
    digest = createHash('sha256').update(buffer).digest('base64');
    digests.set(buffer, digest);
  }
  return digest;
}
