import { UNREACHABLE_CODES } from '../../src/model/error-codes';
import type { GatewayError } from '../../src/model/error';
import { statusForError, type StatusText } from './status-text';

/** A node that shows whether its appliance is reachable. */
interface ReachabilityListener {
  showUnreachable(last: StatusText | undefined): void;
}

interface ReachabilityState {
  unreachable: StatusText | undefined;
  readonly listeners: Set<ReachabilityListener>;
}

/** Reachability by appliance node. If one node learns it, all nodes of the appliance show it. */
const stateById = new Map<string, ReachabilityState>();

/** Shows the reachability of an appliance at a node until the returned function is called. */
function subscribeReachability(id: string, listener: ReachabilityListener): () => void {
  const state = stateById.get(id) ?? { unreachable: undefined, listeners: new Set() };
  stateById.set(id, state);
  state.listeners.add(listener);
  if (state.unreachable) listener.showUnreachable(state.unreachable);
  return () => {
    state.listeners.delete(listener);
    // The state is dropped with its last listener.
    if (state.listeners.size === 0 && stateById.get(id) === state) stateById.delete(id);
  };
}

/** Follows the appliance of one node: its own, or the last one that a message named. */
export class ReachabilitySubscription {
  readonly #listener: ReachabilityListener;
  #id: string | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(listener: ReachabilityListener) {
    this.#listener = listener;
  }

  /** Follows another appliance. Undefined follows none. */
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

/** Reports the result of a request; undefined means success. An error before sending changes nothing. */
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
