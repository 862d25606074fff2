import { createHash } from 'node:crypto';

/** Identifies a fleet. Engines with the same database belong together only if both parts are the same. */
export interface FleetIdentity {
  /** Id of the inventory node, which is the same in every Node-RED with the same flow. */
  readonly inventory: string;
  /** Name of the fleet from the dialog of the engine; empty by default. */
  readonly name: string;
}

/** The properties of an appliance that identify it in an inventory. */
export interface InventoryEntry {
  readonly name: string;
  readonly url?: string;
}

/** The key of a fleet in tables. Both parts are encoded, so different identities never have the same key. */
export function encodeFleetKey({ inventory, name }: FleetIdentity): string {
  return [inventory, ...(name === '' ? [] : [name])].map(encodeURIComponent).join('/');
}

/** Hash of the name and the host of an appliance, so that tables contain no addresses. */
export function hashFleetAppliance({ name, url }: InventoryEntry): string {
  return createHash('sha256')
    .update(JSON.stringify([name, toHost(url)]))
    .digest('base64url')
    .slice(0, 22);
}

/** Hash of all names and hosts of an inventory, independent of their order. */
export function hashInventory(entries: Iterable<InventoryEntry>): string {
  const hash = createHash('sha256');
  for (const line of Array.from(entries, ({ name, url }) => JSON.stringify([name, toHost(url)])).sort()) hash.update(`${line}\n`);
  return hash.digest('base64url').slice(0, 22);
}

/** Fingerprint of an inventory that may change. Most checks find no change, and parsing 10,000 addresses would cost an idle engine 1 % of a core. */
export class InventoryFingerprint {
  #entries = '';
  #value = '';

  get value(): string {
    return this.#value;
  }

  update(entries: Iterable<InventoryEntry>): void {
    const list = [...entries];
    const text = JSON.stringify(list.flatMap(({ name, url = '' }) => [name, url]));
    if (text === this.#entries && this.#value !== '') return;
    this.#entries = text;
    this.#value = hashInventory(list);
  }
}

function toHost(url = ''): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
