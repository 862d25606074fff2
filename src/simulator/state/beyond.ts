import type { JsonObject } from '../fields';

/** What clients use beyond the interface description (field notes, "Paths beyond the description"). */
export interface BeyondState {
  readonly backups: { kind: string; name: string }[];
  readonly licenseKeys: Set<string>;
  /** Users whose one-time password was reset or unlocked, as `reset <server> users <name>`. */
  readonly codes: string[];
  /** By hardware address. */
  readonly endpoints: Map<string, JsonObject>;
}

export const newBeyond = (): BeyondState => ({
  backups: [{ kind: 'system', name: 'system-1' }],
  licenseKeys: new Set(['SIMULATOR-0001']),
  codes: [],
  endpoints: new Map([['02:00:5e:10:00:01', { macaddr: '02:00:5e:10:00:01', category: 'Printers' }]]),
});
