import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import type { Clock } from './clock';
import { SmallTracker, type Found, type Seen } from './tracker';

interface Served {
  readonly fingerprint: string;
  /** The days that were told, or that had passed when this certificate was seen first. */
  readonly told: readonly number[];
}

export const DAYS = [30, 14, 7, 3, 1];
const DAY_MS = 86_400_000;

/** The certificate that is served: once for each of the days before its end, and when it is another one. */
export class CertificateTracker extends SmallTracker<Served, JsonObject> {
  readonly #clock: Clock;
  readonly #days: readonly number[];

  constructor(clock: Clock, days: readonly number[] = DAYS) {
    super();
    this.#clock = clock;
    this.#days = days;
  }

  protected compare(data: JsonObject, before: Served | undefined): { state: Served; events: Found[]; seen: Seen } {
    const { fingerprint256: fingerprint, subject, issuer, 'valid-to': until } = data;
    const left = Math.floor((Date.parse(String(until)) - this.#clock.now()) / DAY_MS);
    if (typeof fingerprint !== 'string' || Number.isNaN(left))
      throw new GatewayError('BAD_RESPONSE', 'The handshake showed no certificate that can be read.', { sent: true });
    const renewed = before !== undefined && before.fingerprint !== fingerprint;
    const told = before && !renewed ? before.told : [];
    const passed = this.#days.filter((day) => left <= day);
    const events: Found[] = [];
    const about = { days: left, subject, issuer, 'valid-to': until };
    if (renewed) events.push({ event: 'renewed', before: before.fingerprint, after: fingerprint, ...about });
    // Several at once, after a long time away, are one event.
    if (before && passed.some((day) => !told.includes(day))) events.push({ event: 'expires', ...about, fingerprint256: fingerprint });
    return { state: { fingerprint, told: passed }, events, seen: { key: 'days', n: left } };
  }

  protected isState(saved: unknown): saved is Served {
    return isObject(saved) && typeof saved.fingerprint === 'string' && Array.isArray(saved.told);
  }
}

/** Errors: `BAD_CONFIG`. */
export function readDays(given: readonly unknown[]): number[] {
  const days = given.map(Number);
  if (days.length > 0 && days.length <= 100 && days.every((day) => Number.isInteger(day) && day >= 0 && day <= 10_000)) return days;
  throw new GatewayError('BAD_CONFIG', 'days has to be whole numbers, such as 30,14,7,3,1.', { sent: false });
}
