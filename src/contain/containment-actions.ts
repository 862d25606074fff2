import type { JsonObject } from '../model/json';

/** What containing does at an appliance. Everything rejects with a `GatewayError`. */
export interface ContainmentActions {
  /** Which appliance, as a hash. */
  readonly appliance: string;
  /** Nothing is written, neither there nor here. */
  readonly isDryRun: boolean;
  /** Whether the local account may sign in; undefined where that server has no such account. Errors: `NOT_FOUND` for a server. */
  isEnabled(server: string, name: string): Promise<boolean | undefined>;
  setEnabled(server: string, name: string, enabled: boolean): Promise<void>;
  /** All sessions, or those of one user as the appliance compares names. */
  listSessions(name?: string): Promise<JsonObject[]>;
  /** Whether this session is of that name, exactly, or from that address; never one of our own account. */
  isSessionOf(session: JsonObject, subject: { readonly name?: string; readonly 'source-ip'?: string }): boolean;
  /** False for a session that was gone already. */
  endSession(session: JsonObject): Promise<boolean>;
  /** What of a session is told. */
  toReportedSession(session: JsonObject): JsonObject;
  /** Runs alone at this appliance. */
  runExclusive<T>(work: () => Promise<T>): Promise<T>;
}
