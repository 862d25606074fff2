import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { evaluateWatchLimit, createWatchLimitKey, type WatchLimitCrossing, type WatchLimit, type WatchLimitState } from './limits';
import type { HealthEvent, LicenseEvent } from './events';
import { WholeStateTracker, type CheckSummary } from './tracker';

type LimitStates = Record<string, WatchLimitState>;
interface MeasuredValue {
  readonly name: string;
  readonly value: number;
}

/** Compares values with their limits and reports each crossing once. An unknown value changes nothing. */
abstract class LimitTracker<E extends HealthEvent | LicenseEvent, D> extends WholeStateTracker<LimitStates, E, D> {
  readonly #limits: readonly WatchLimit[];

  constructor(limits: readonly WatchLimit[]) {
    super();
    this.#limits = limits;
  }

  /** The numeric values that a limit applies to. */
  protected abstract valuesFor(limit: WatchLimit, data: D): MeasuredValue[];

  protected abstract toEvent(limit: WatchLimit, value: MeasuredValue, crossing: WatchLimitCrossing): E;

  protected compare(data: D, previous: LimitStates | undefined): { state: LimitStates; events: E[]; summary: CheckSummary } {
    const events: E[] = [];
    const state: LimitStates = {};
    for (const limit of this.#limits) {
      const keyPrefix = createWatchLimitKey(limit);
      // A value that is missing from this response keeps its state.
      for (const [key, limitState] of Object.entries(previous ?? {})) if (key.startsWith(keyPrefix)) state[key] = limitState;
      for (const value of this.valuesFor(limit, data)) {
        const key = `${keyPrefix} ${value.name}`;
        const { limitState, crossing } = evaluateWatchLimit(limit, value.value, state[key]);
        state[key] = limitState;
        if (crossing) events.push(this.toEvent(limit, value, crossing));
      }
    }
    return { state, events, summary: this.summarize(data, Object.values(state).filter(({ crossed }) => crossed).length) };
  }

  protected summarize(_data: D, crossedCount: number): CheckSummary {
    return crossedCount > 0 ? { key: 'above', n: crossedCount } : { key: 'fine' };
  }

  protected isState(saved: unknown): saved is LimitStates {
    return (
      isObject(saved) &&
      Object.values(saved).every(
        (value) => isObject(value) && typeof value.crossed === 'boolean' && typeof value.opposingChecks === 'number',
      )
    );
  }
}

/** The names of the processor load; they depend on the release (field-notes.md, "Health"). */
const CPU_NAMES = ['CPU-UTILIZATION', 'CPU-UTILIZATION4'];

export class HealthTracker extends LimitTracker<HealthEvent, JsonObject> {
  protected valuesFor({ name }: WatchLimit, data: JsonObject): MeasuredValue[] {
    const names = CPU_NAMES.includes(name) ? CPU_NAMES : [name];
    // The appliance reports an unknown value as -1.
    const value = names.map((key) => data[key]).find((candidate) => typeof candidate === 'number' && candidate >= 0);
    return typeof value === 'number' ? [{ name, value }] : [];
  }

  protected toEvent({ name }: WatchLimit, { value }: MeasuredValue, { event, limit }: WatchLimitCrossing): HealthEvent {
    return { event, name, value, limit };
  }
}

export class LicenseTracker extends LimitTracker<LicenseEvent, JsonObject> {
  protected valuesFor({ name }: WatchLimit, data: JsonObject): MeasuredValue[] {
    return readLeaseShares(data).filter((share) => name === '*' || share.name === name);
  }

  protected toEvent(_limit: WatchLimit, { name, value }: MeasuredValue, { event, limit }: WatchLimitCrossing): LicenseEvent {
    return { event, feature: name, share: value, limit };
  }

  protected override summarize(data: JsonObject): CheckSummary {
    return { key: 'percent', n: Math.round(Math.max(0, ...readLeaseShares(data).map(({ value }) => value))) };
  }
}

/** The leased share of each feature, in percent with one decimal. Errors: `BAD_RESPONSE` if the data is not lease information. */
export function readLeaseShares(data: JsonObject): MeasuredValue[] {
  const counts = isObject(data['leased-license-counts']) ? data['leased-license-counts'] : undefined;
  const features = counts && isObject(counts.features) ? counts.features.feature : undefined;
  if (!counts) throw new GatewayError('BAD_RESPONSE', 'The response of the appliance is not lease information.', { sent: true });
  const list = Array.isArray(features) ? (features as unknown[]) : isObject(features) ? [features] : [];
  return list.flatMap((feature) => {
    if (!isObject(feature) || typeof feature.name !== 'string') return [];
    const total = Number(feature['total-count']);
    const infos = isObject(feature.clients) ? feature.clients['client-info'] : undefined;
    const clients = Array.isArray(infos) ? (infos as unknown[]) : [infos];
    const leased = clients.reduce<number>((sum, client) => sum + (isObject(client) ? Number(client['leased-count'] ?? 0) : 0), 0);
    return total > 0 && Number.isFinite(leased) ? [{ name: feature.name, value: Math.round((leased / total) * 1000) / 10 }] : [];
  });
}
