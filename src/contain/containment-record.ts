import { coordinationKey } from '../model/coordination';
import { isObject } from '../model/json';
import { NAME_MATCH_MODES, type NameMatchMode } from '../model/user-names';

/**
 * A local account that was enabled when the person was contained. `wanted`: it is not disabled yet. `sending`: the request to disable it may
 * have been applied; this is written before the request, so that a restart after a kill knows which accounts to enable again.
 */
export interface ContainedAccount {
  readonly server: string;
  readonly state: 'wanted' | 'sending' | 'disabled';
}

/** A containment of a person (`name`) or of an address (`source-ip`). Plain JSON, as it is saved in a file. */
export interface ContainmentRecord {
  /** A random UUID, so that it cannot be guessed. */
  readonly id: string;
  /** The hash of the appliance, because several appliances can share a folder. */
  readonly appliance: string;
  readonly name?: string;
  /** How the name is compared; exactly if missing. */
  readonly match?: NameMatchMode;
  readonly 'source-ip'?: string;
  readonly accounts: readonly ContainedAccount[];
  /** Number of sessions that were ended since the containment started. */
  readonly ended: number;
  /** ISO 8601. */
  readonly since: string;
  readonly until: string;
  /** Whether the containment has ended and its accounts are being enabled. */
  readonly releasing: boolean;
}

/** Returns the contained name or address, for messages. */
export function getSubjectName({ name, 'source-ip': address }: Pick<ContainmentRecord, 'name' | 'source-ip'>): string {
  return name ?? address ?? '';
}

export function isContainmentRecord(value: unknown): value is ContainmentRecord {
  if (!isObject(value)) return false;
  const { id, appliance, name, match, 'source-ip': address, accounts, ended, since, until, releasing } = value;
  return (
    [id, appliance, since, until].every((text) => typeof text === 'string' && text !== '') &&
    !Number.isNaN(Date.parse(String(until))) &&
    (typeof name === 'string') !== (typeof address === 'string') &&
    String(name ?? address).trim() !== '' &&
    (match === undefined || NAME_MATCH_MODES.some((known) => known === match)) &&
    typeof ended === 'number' &&
    typeof releasing === 'boolean' &&
    Array.isArray(accounts) &&
    accounts.every(
      (item) => isObject(item) && typeof item['server'] === 'string' && ['wanted', 'sending', 'disabled'].includes(String(item['state'])),
    )
  );
}

/** Returns the hash that replaces the appliance address in files, so that files do not expose it. */
export function hashApplianceAddress(baseUrl: string): string {
  return coordinationKey('contain', baseUrl.toLowerCase());
}
