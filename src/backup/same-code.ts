import { timingSafeEqual } from 'node:crypto';

/** Compares without telling by the time how much of it is right. */
export function sameCode(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one, 'latin1'), Buffer.from(other, 'latin1'));
}
