/** What an item is at. `sending` is committed before the first write of it leaves. */
export type ItemState = 'waiting' | 'begun' | 'sending' | 'ok' | 'failed' | 'unknown' | 'skipped';

/**
 * The one state machine of an item. `begun` goes back to `waiting` when nothing of it was sent and its worker ends; `begun` and `sending` stay
 * what they are when another worker takes them over from one that died.
 */
export const NEXT: Readonly<Record<ItemState, readonly ItemState[]>> = {
  waiting: ['begun', 'skipped'],
  begun: ['begun', 'waiting', 'sending', 'ok', 'failed', 'skipped'],
  sending: ['sending', 'ok', 'failed', 'unknown'],
  ok: [],
  failed: [],
  unknown: [],
  skipped: [],
};

export const STATES = Object.keys(NEXT) as readonly ItemState[];

/** States from which that one may follow. */
export function before(state: ItemState): ItemState[] {
  return STATES.filter((from) => NEXT[from].includes(state));
}

/** Nothing follows. */
export function isOver(state: ItemState): boolean {
  return NEXT[state].length === 0;
}

/** What counts as a failure of the run: an outcome that nobody knows does. */
export function isFailure(state: ItemState): boolean {
  return state === 'failed' || state === 'unknown';
}
