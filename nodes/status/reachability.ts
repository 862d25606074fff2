import { UNREACHABLE_CODES } from '../../src/model/error-codes';
import type { GatewayError } from '../../src/model/error';
import { statusForError, type StatusText } from './status-text';

/** Who shows how an appliance is. */
interface ReachabilityListener {
  showUnreachable(last: StatusText | undefined): void;
}

interface ReachabilityState {
  unreachable: StatusText | undefined;
  readonly listeners: Set<ReachabilityListener>;
}

/** By the id of the appliance node: what one of its nodes comes to know, all of them show. */
const stateById = new Map<string, ReachabilityState>();

/** Shows from now on when that appliance is out of reach, until what comes back is called. */
export function subscribeReachability(id: string, listener: ReachabilityListener): () => void {
  const state = stateById.get(id) ?? { unreachable: undefined, listeners: new Set() };
  stateById.set(id, state);
  state.listeners.add(listener);
  if (state.unreachable) listener.showUnreachable(state.unreachable);
  return () => {
    state.listeners.delete(listener);
    // With its last node it is forgotten: who comes later will see.
    if (state.listeners.size === 0 && stateById.get(id) === state) stateById.delete(id);
  };
}

/** What one node follows: its appliance, or of those that messages name the last one. */
export class ReachabilitySubscription {
  readonly #listener: ReachabilityListener;
  #id: string | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(listener: ReachabilityListener) {
    this.#listener = listener;
  }

  /** From now on this one; undefined is one that nobody knows by an id. */
  switchTo(id: string | undefined): void {
    if (id === this.#id) return;
    this.close();
    this.#listener.showUnreachable(undefined);
    this.#id = id;
    if (id !== undefined) this.#unsubscribe = subscribeReachability(id, this.#listener);
  }

  close(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#id = undefined;
  }
}

/** What came of something that was asked of the appliance; undefined: it went well. What was never sent tells nothing. */
export function reportReachability(id: string | undefined, error?: GatewayError): void {
  const state = id === undefined ? undefined : stateById.get(id);
  if (!state || (error === undefined && state.unreachable === undefined)) return;
  if (error && !UNREACHABLE_CODES.has(error.code) && error.details.status === undefined) return;
  const unreachable: StatusText | undefined =
    error && UNREACHABLE_CODES.has(error.code) ? { ...statusForError(error, (_field, label) => label), fill: 'yellow' } : undefined;
  if (unreachable === undefined && state.unreachable === undefined) return;
  state.unreachable = unreachable;
  for (const listener of state.listeners) listener.showUnreachable(unreachable);
}
