import type { JsonObject } from '../model/json';
import type { EventsByWatch } from './events';

/** The result of a check as a keyword and a count, for the status text of a node. */
export interface CheckSummary {
  readonly key: 'sessions' | 'above' | 'fine' | 'same' | 'changed' | 'members' | 'percent' | 'days' | 'findings';
  readonly n?: number;
}

/** An event that a tracker found. `event` is its name. */
export type TrackedEvent = EventsByWatch[keyof EventsByWatch];

/** The result of one check. */
export interface TrackerUpdate {
  readonly events: readonly TrackedEvent[];
  /** What changed in the tracker's state, as JSON for `apply`. Undefined if nothing changed. */
  readonly change: unknown;
  readonly summary: CheckSummary;
  /** Additional properties for the envelope of the events. */
  readonly envelope?: JsonObject;
}

/**
 * Compares each check with the last one and derives events from the differences. The first check of a tracker without a restored state
 * has no events: it sets the baseline.
 */
export interface Tracker<D = unknown> {
  /** Compares the data of a check. Errors: `BAD_RESPONSE` for data of another shape; the state then stays as it was. */
  update(data: D): TrackerUpdate;
  /** The state as JSON. Undefined before the first check. */
  save(): unknown;
  /** The rest of a large state, as changes for `apply`. `save` then returns only its beginning. */
  remainingChanges?(): Iterable<unknown>;
  /** Replaces the state with one from `save`. Throws if it has another shape. */
  restore(saved: unknown): void;
  /** Applies a `TrackerUpdate.change` to the state. */
  apply(change: unknown): void;
}

/** A tracker with a small state. Each change contains the complete state. */
export abstract class WholeStateTracker<S, E extends TrackedEvent, D = unknown> implements Tracker<D> {
  protected state: S | undefined;
  #lastSerialized: string | undefined;

  /** Compares the data with the previous state and returns the new state. */
  protected abstract compare(data: D, previous: S | undefined): { state: S; events: E[]; summary: CheckSummary };

  protected abstract isState(saved: unknown): saved is S;

  update(data: D): TrackerUpdate {
    const { state, events, summary } = this.compare(data, this.state);
    this.state = state;
    const serialized = JSON.stringify(state);
    const change = serialized === this.#lastSerialized ? undefined : state;
    this.#lastSerialized = serialized;
    return { events, change, summary };
  }

  save(): unknown {
    return this.state;
  }

  restore(saved: unknown): void {
    if (!this.isState(saved)) throw new Error('The saved state has another shape.');
    this.state = saved;
    this.#lastSerialized = JSON.stringify(saved);
  }

  apply(change: unknown): void {
    this.restore(change);
  }
}
