import { timingSafeEqual } from 'node:crypto';

/** Compares in constant time. */
export function macEquals(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a, 'latin1'), Buffer.from(b, 'latin1'));
}
