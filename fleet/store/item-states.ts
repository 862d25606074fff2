/** What an item is at. `sending` is committed before the first write of it leaves. */
export type ItemState = 'waiting' | 'begun' | 'sending' | 'ok' | 'failed' | 'unknown' | 'skipped';

/**
 * The one state machine of an item. `begun` goes back to `waiting` when nothing of it was sent and its worker ends; `begun` and `sending` stay
 * what they are when another worker takes them over from one that died.
 */
export const NEXT_STATES: Readonly<Record<ItemState, readonly ItemState[]>> = {
  waiting: ['begun', 'skipped'],
  begun: ['begun', 'waiting', 'sending', 'ok', 'failed', 'skipped'],
  sending: ['sending', 'ok', 'failed', 'unknown'],
  ok: [],
  failed: [],
  unknown: [],
  skipped: [],
};

export const ITEM_STATES = Object.keys(NEXT_STATES) as readonly ItemState[];

/** States from which that one may follow. */
export function getPreviousStates(state: ItemState): ItemState[] {
  return ITEM_STATES.filter((from) => NEXT_STATES[from].includes(state));
}

/** Nothing follows. */
export function isFinalState(state: ItemState): boolean {
  return NEXT_STATES[state].length === 0;
}

/** What counts as a failure of the run: an outcome that nobody knows does. */
export function isFailureState(state: ItemState): boolean {
  return state === 'failed' || state === 'unknown';
}
