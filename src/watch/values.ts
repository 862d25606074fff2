import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { cross, limitKey, type Crossing, type Limit, type Standing } from './limits';
import { SmallTracker, type Found, type Seen } from './tracker';

type Standings = Record<string, Standing>;
interface Value {
  readonly name: string;
  readonly value: number;
}

/** Values held against their limits: each crossing is told once. What is not known changes nothing. */
abstract class LimitTracker<D> extends SmallTracker<Standings, D> {
  readonly #limits: readonly Limit[];

  constructor(limits: readonly Limit[]) {
    super();
    this.#limits = limits;
  }

  /** The values that a limit is about, as far as they are numbers. */
  protected abstract valuesFor(limit: Limit, data: D): Value[];

  protected abstract found(limit: Limit, value: Value, crossing: Crossing): Found;

  protected compare(data: D, before: Standings | undefined): { state: Standings; events: Found[]; seen: Seen } {
    const events: Found[] = [];
    const state: Standings = {};
    for (const limit of this.#limits) {
      const own = limitKey(limit);
      // Of a value that this answer does not have, or does not know, everything stays.
      for (const [key, standing] of Object.entries(before ?? {})) if (key.startsWith(own)) state[key] = standing;
      for (const value of this.valuesFor(limit, data)) {
        const key = `${own} ${value.name}`;
        const { standing, crossing } = cross(limit, value.value, state[key]);
        state[key] = standing;
        if (crossing) events.push(this.found(limit, value, crossing));
      }
    }
    return { state, events, seen: this.seen(data, Object.values(state).filter(({ beyond }) => beyond).length) };
  }

  protected seen(_data: D, beyond: number): Seen {
    return beyond > 0 ? { key: 'above', n: beyond } : { key: 'fine' };
  }

  protected isState(saved: unknown): saved is Standings {
    return (
      isObject(saved) &&
      Object.values(saved).every((one) => isObject(one) && typeof one.beyond === 'boolean' && typeof one.row === 'number')
    );
  }
}

/** Releases call the processor load differently (field-notes.md, "Health"). */
const CPU = ['CPU-UTILIZATION', 'CPU-UTILIZATION4'];

export class HealthTracker extends LimitTracker<JsonObject> {
  protected valuesFor({ name }: Limit, data: JsonObject): Value[] {
    const names = CPU.includes(name) ? CPU : [name];
    // -1: the appliance does not know it.
    const value = names.map((one) => data[one]).find((one) => typeof one === 'number' && one >= 0);
    return typeof value === 'number' ? [{ name, value }] : [];
  }

  protected found({ name }: Limit, { value }: Value, { event, limit }: Crossing): Found {
    return { event, name, value, limit };
  }
}

export class LicenseTracker extends LimitTracker<JsonObject> {
  protected valuesFor({ name }: Limit, data: JsonObject): Value[] {
    return sharesOf(data).filter((share) => name === '*' || share.name === name);
  }

  protected found(_limit: Limit, { name, value }: Value, { event, limit }: Crossing): Found {
    return { event, feature: name, share: value, limit };
  }

  protected override seen(data: JsonObject): Seen {
    return { key: 'percent', n: Math.round(Math.max(0, ...sharesOf(data).map(({ value }) => value))) };
  }
}

/** How much of each feature is leased, in percent with one decimal. Errors: `BAD_RESPONSE` for what is no lease information. */
function sharesOf(data: JsonObject): Value[] {
  const counts = isObject(data['leased-license-counts']) ? data['leased-license-counts'] : undefined;
  const features = counts && isObject(counts.features) ? counts.features.feature : undefined;
  if (!counts) throw new GatewayError('BAD_RESPONSE', 'What the appliance answered is no lease information.', { sent: true });
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
