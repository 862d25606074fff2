import type { ContainmentRecord } from './containment-record';

/** Minimum time between two polls that must agree. A clock that jumps ahead for a moment must not release anybody. */
const CONFIRMATION_MS = 2000;

interface End {
  /** The recorded end. A changed end starts the comparison again. */
  readonly until: string;
  /** The end on the clock of `performance.now()`. */
  readonly monotonicEnd: number;
  /** Whether this process started or extended the containment; then `monotonicEnd` does not depend on the system clock. */
  readonly isExact: boolean;
  /** When a poll first found that the end has passed, by `performance.now()`. */
  passedAt: number | undefined;
  isConfirmed: boolean;
}

type Record = Pick<ContainmentRecord, 'id' | 'until' | 'releasing'>;

/** Ends of containments that this process knows, by id. */
const endsById = new Map<string, End>();

/** Records the end of a containment that this process has just started or extended. */
export function recordContainmentEnd(record: Record): void {
  endsById.set(record.id, createEnd(record, true));
}

/** Compares the system clock with the end, once in each poll. */
export function observeContainmentEnd(record: Record): void {
  let end = endsById.get(record.id);
  if (end?.until !== record.until) endsById.set(record.id, (end = createEnd(record, false)));
  if (!isPastContainmentEnd(record)) end.passedAt = undefined;
  else {
    const now = performance.now();
    end.passedAt ??= now;
    if (now - end.passedAt >= CONFIRMATION_MS) end.isConfirmed = true;
  }
}

export function forgetContainmentEnd(id: string): void {
  endsById.delete(id);
}

/** Whether the end has passed by the system clock, or a release has begun. */
export function isPastContainmentEnd({ until, releasing }: Pick<Record, 'until' | 'releasing'>): boolean {
  return releasing || Date.parse(until) <= Date.now();
}

/**
 * Whether a containment is over: a release has begun, or its end has passed on the monotonic clock, or two polls saw that it has passed on the
 * clock of the machine.
 */
export function isContainmentOver(record: Record): boolean {
  if (record.releasing) return true;
  const end = endsById.get(record.id);
  if (end?.until !== record.until) return false;
  if (end.isConfirmed) return true;
  return performance.now() >= end.monotonicEnd && (end.isExact || isPastContainmentEnd(record));
}

function createEnd({ until }: Record, isExact: boolean): End {
  const remainingMs = Date.parse(until) - Date.now();
  // An end that has already passed may be a wrong clock, so only two polls can confirm it.
  const monotonicEnd = remainingMs > 0 ? performance.now() + remainingMs : Infinity;
  return { until, monotonicEnd, isExact, passedAt: undefined, isConfirmed: false };
}
