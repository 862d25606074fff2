import type { SnapshotCounts } from './copy/save-snapshot';
import type { FaultRule } from './faults';
import type { Incidents } from './incidents';
import type { RequestLogEntry } from './server';
import type { ApplianceState } from './state';

/** A running simulated appliance. */
export interface Simulator extends Incidents {
  readonly url: string;
  readonly port: number;
  /** PEM of the certificate to trust. */
  readonly ca: string;
  /** The administrator to log in with. */
  readonly username: string;
  readonly password: string;
  /** Live: tests may read and change it. */
  readonly state: ApplianceState;
  /** The journal, latest `journalLimit` requests. */
  readonly requests: RequestLogEntry[];
  /** Number of first login steps that reached the appliance, including refused ones. */
  readonly logins: number;
  readonly openConnections: number;
  readonly totalConnections: number;
  /** Every key issued so far becomes invalid. */
  expireKeys(): void;
  /** Queues a fault; see FaultRule. */
  fault(rule: FaultRule): void;
  clearFaults(): void;
  /** New handshakes use this certificate from now on. Open connections stay. */
  replaceCertificate(tls: { key: string; cert: string }): void;
  /** Told of each handshake. */
  onHandshake(listener: () => void): void;
  /** Writes the configuration as a snapshot into a folder, as `gateway-snapshot` does. Only changed files are written. */
  save(folder: string): SnapshotCounts;
  close(): Promise<void>;
}
