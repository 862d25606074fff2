import type { JsonObject } from '../model/json';

/** What a check is told to have seen, in a word and a count: for the line below a node. */
export interface CheckSummary {
  readonly key: 'sessions' | 'above' | 'fine' | 'same' | 'changed' | 'members' | 'percent' | 'days';
  readonly n?: number;
}

/** One event as a tracker finds it; `event` is its name. */
export interface TrackedEvent extends JsonObject {
  readonly event: string;
}

/** What one look came to. */
export interface TrackerUpdate {
  readonly events: readonly TrackedEvent[];
  /** What of the memory is another now; undefined: nothing. JSON, which `apply` takes. */
  readonly change: unknown;
  readonly summary: CheckSummary;
  /** What the envelope of its events tells besides. */
  readonly envelope?: JsonObject;
}

/**
 * What one kind of watch remembers from look to look, and how it tells events from it. The first look of a tracker that remembers
 * nothing finds no events: what it sees is where it begins.
 */
export interface Tracker<D = unknown> {
  /** Errors: `BAD_RESPONSE` when the data is not what was asked for; the memory is then as it was. */
  update(data: D): TrackerUpdate;
  /** Everything that is remembered, as JSON; undefined before the first look. */
  save(): unknown;
  /** Where that is a lot: `save` gives the beginning, and this the rest, in changes. */
  remainingChanges?(): Iterable<unknown>;
  /** Takes what `save` gave, in place of what is there. Throws when it is of another shape. */
  restore(saved: unknown): void;
  /** Takes what `Look.change` gave, on top of what is there. */
  apply(change: unknown): void;
}

/** For a memory that is small: every change is the whole of it. */
export abstract class WholeStateTracker<S, D = unknown> implements Tracker<D> {
  protected state: S | undefined;
  #lastSerialized: string | undefined;

  /** Compares with what is remembered, and says what to remember from now on. */
  protected abstract compare(data: D, previous: S | undefined): { state: S; events: TrackedEvent[]; summary: CheckSummary };

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
    if (!this.isState(saved)) throw new Error('another shape');
    this.state = saved;
    this.#lastSerialized = JSON.stringify(saved);
  }

  apply(change: unknown): void {
    this.restore(change);
  }
}
