/** State of an item. `sending` is committed before the first write of the item is sent. */
export type ItemState = 'waiting' | 'claimed' | 'sending' | 'ok' | 'failed' | 'unknown' | 'skipped';

/**
 * Allowed state changes of an item. `claimed` returns to `waiting` when its worker stops before it sends a write. `claimed` and `sending` stay
 * as they are when another worker takes over from a dead one.
 */
export const ALLOWED_NEXT_STATES: Readonly<Record<ItemState, readonly ItemState[]>> = {
  waiting: ['claimed', 'skipped'],
  claimed: ['claimed', 'waiting', 'sending', 'ok', 'failed', 'skipped'],
  sending: ['sending', 'ok', 'failed', 'unknown'],
  ok: [],
  failed: [],
  unknown: [],
  skipped: [],
};

export const ITEM_STATES = Object.keys(ALLOWED_NEXT_STATES) as readonly ItemState[];

/** Returns the states that may precede a state. */
export function getPreviousStates(state: ItemState): ItemState[] {
  return ITEM_STATES.filter((from) => ALLOWED_NEXT_STATES[from].includes(state));
}

/** Whether no other state can follow this state. */
export function isFinalState(state: ItemState): boolean {
  return ALLOWED_NEXT_STATES[state].length === 0;
}

/** Whether a state counts as a failure of the run. An unknown outcome does. */
export function isFailureState(state: ItemState): boolean {
  return state === 'failed' || state === 'unknown';
}
