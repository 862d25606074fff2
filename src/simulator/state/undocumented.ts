import type { JsonObject } from '../body-shape';

/** What clients use beyond the interface description (field notes, "Paths beyond the description"). */
export interface UndocumentedState {
  readonly backups: { kind: string; name: string }[];
  readonly licenseKeys: Set<string>;
  /** Users whose one-time password was reset or unlocked, as `reset <server> users <name>`. */
  readonly totpActions: string[];
  /** By hardware address. */
  readonly endpoints: Map<string, JsonObject>;
}

export const createUndocumentedState = (): UndocumentedState => ({
  backups: [{ kind: 'system', name: 'system-1' }],
  licenseKeys: new Set(['SIMULATOR-0001']),
  totpActions: [],
  endpoints: new Map([['02:00:5e:10:00:01', { macaddr: '02:00:5e:10:00:01', category: 'Printers' }]]),
});
