import { isObject } from '../model/json';

/**
 * A local account that was enabled when it was looked at. `wanted`: it is to be disabled, and may be already; that is written down
 * before it is done, so that whoever is killed in between knows afterwards what to enable again.
 */
export interface ContainedAccount {
  readonly server: string;
  readonly state: 'wanted' | 'disabled';
}

/** Somebody who is kept out, or all who come from an address: one of `name` and `source-ip`. Plain JSON: it is what a file holds. */
export interface ContainmentRecord {
  /** Cannot be guessed. */
  readonly id: string;
  /** Which appliance, as a hash: several may share a folder. */
  readonly appliance: string;
  readonly name?: string;
  readonly 'source-ip'?: string;
  readonly accounts: readonly ContainedAccount[];
  /** Sessions that were ended after the first ones. */
  readonly ended: number;
  /** ISO 8601. */
  readonly since: string;
  readonly until: string;
  /** It is over; what was disabled is being enabled. */
  readonly releasing: boolean;
}

/** Whom it keeps out, for words. */
export function getSubjectName({ name, 'source-ip': address }: Pick<ContainmentRecord, 'name' | 'source-ip'>): string {
  return name ?? address ?? '';
}

export function isContainmentOver({ until, releasing }: ContainmentRecord): boolean {
  return releasing || Date.parse(until) <= Date.now();
}

export function isContainmentRecord(value: unknown): value is ContainmentRecord {
  if (!isObject(value)) return false;
  const { id, appliance, name, 'source-ip': address, accounts, ended, since, until, releasing } = value;
  return (
    [id, appliance, since, until].every((text) => typeof text === 'string' && text !== '') &&
    !Number.isNaN(Date.parse(String(until))) &&
    (typeof name === 'string') !== (typeof address === 'string') &&
    typeof ended === 'number' &&
    typeof releasing === 'boolean' &&
    Array.isArray(accounts) &&
    accounts.every((item) => isObject(item) && typeof item['server'] === 'string' && ['wanted', 'disabled'].includes(String(item['state'])))
  );
}
