import { GatewayError } from '../model/error';
import { isObject } from '../model/json';
import type { PeerCertificateInfo } from '../model/peer-certificate';
import type { Clock } from './clock';
import type { CertificateEvent } from './events';
import { WholeStateTracker, type CheckSummary } from './tracker';

/** The part of a served certificate that the tracker reads. */
type CertificateData = Partial<Pick<PeerCertificateInfo, 'fingerprint256' | 'subject' | 'issuer' | 'valid-to'>>;

interface CertificateTrackerState {
  readonly fingerprint: string;
  /** The days that were reported, or that had passed when this certificate was first seen. */
  readonly reportedDays: readonly number[];
}

export const DEFAULT_EXPIRY_DAYS = [30, 14, 7, 3, 1];
const DAY_MS = 86_400_000;

/** Reports the served certificate once for each of the days before its end, and when it is replaced. */
export class CertificateTracker extends WholeStateTracker<CertificateTrackerState, CertificateEvent, CertificateData> {
  readonly #clock: Clock;
  readonly #days: readonly number[];

  constructor(clock: Clock, days: readonly number[] = DEFAULT_EXPIRY_DAYS) {
    super();
    this.#clock = clock;
    this.#days = days;
  }

  protected compare(
    data: CertificateData,
    previous: CertificateTrackerState | undefined,
  ): { state: CertificateTrackerState; events: CertificateEvent[]; summary: CheckSummary } {
    const { fingerprint256: fingerprint, subject = '', issuer = '', 'valid-to': validTo = '' } = data;
    const daysLeft = Math.floor((Date.parse(validTo) - this.#clock.now()) / DAY_MS);
    if (typeof fingerprint !== 'string' || Number.isNaN(daysLeft))
      throw new GatewayError('BAD_RESPONSE', 'The TLS handshake showed no readable certificate.', { sent: true });
    const renewed = previous !== undefined && previous.fingerprint !== fingerprint;
    const reportedDays = previous && !renewed ? previous.reportedDays : [];
    const passedDays = this.#days.filter((day) => daysLeft <= day);
    const events: CertificateEvent[] = [];
    const details = { days: daysLeft, subject, issuer, 'valid-to': validTo };
    if (renewed) events.push({ event: 'renewed', before: previous.fingerprint, after: fingerprint, ...details });
    // Several days that passed between two checks are one event.
    if (previous && passedDays.some((day) => !reportedDays.includes(day)))
      events.push({ event: 'expires', ...details, fingerprint256: fingerprint });
    // Days stay reported when the clock is set back, so that no event is sent twice.
    const allReportedDays = [...new Set([...reportedDays, ...passedDays])];
    return { state: { fingerprint, reportedDays: allReportedDays }, events, summary: { key: 'days', n: daysLeft } };
  }

  protected isState(saved: unknown): saved is CertificateTrackerState {
    return isObject(saved) && typeof saved.fingerprint === 'string' && Array.isArray(saved.reportedDays);
  }
}

/** Errors: `BAD_CONFIG`. */
export function parseExpiryDays(values: readonly unknown[]): number[] {
  const days = values.map(Number);
  if (days.length > 0 && days.length <= 100 && days.every((day) => Number.isInteger(day) && day >= 0 && day <= 10_000)) return days;
  throw new GatewayError('BAD_CONFIG', 'days must be whole numbers from 0 to 10000, such as 30,14,7,3,1.', { sent: false });
}
