import type { Gateway } from '../gateway';
import { asGatewayError, GatewayError } from '../model/error';
import { truthOf } from '../model/json';
import { neededCredentials } from '../model/rules';
import { ours, sentence } from '../model/sentence';
import { SETTING_KINDS, type CredentialName, type PlainSetting } from '../model/setting-kinds';
import { checkSettings, type Settings } from '../model/settings';
import { fromObject, type CredentialSet, type CredentialSource } from './credentials';
import { checkDefaults, readEntries, type InventoryEntry } from './entry';
import { Gateways, type KeptGateway } from './gateways';
import { parseInventory, type InventoryFormat } from './parse';
import { readSelection, type Selectable } from './selection';

type Values = Readonly<Record<string, unknown>>;

/** Settings of the library from properties, as a table or a dialog has them, and credentials. Errors: `BAD_CONFIG`. */
export type SettingsOf = (properties: Values, credentials: CredentialSet) => Settings;

export interface InventoryOptions {
  /** Any property of an appliance but its name, its address and its credentials, for entries that have none of their own. */
  readonly defaults?: Values | undefined;
  /** Credential sets by name, or where they are kept. */
  readonly credentials?: CredentialSource | Readonly<Record<string, CredentialSet>> | undefined;
  readonly settingsOf?: SettingsOf | undefined;
  /** Keeps the gateways; several inventories may share one. */
  readonly gateways?: Gateways | undefined;
}

/** Long enough to be taken for credentials while everything else is checked: sets may come later than the file. */
const STAND_INS: CredentialSet = { username: 'x', password: 'x', secondPassword: 'x', totpSecret: 'AAAAAAAAAAAAAAAA', apiKey: 'x' };

/** One appliance of an inventory. Its gateway is made at its first use, and holds no socket before. */
export class InventoryAppliance implements Selectable {
  readonly #entry: InventoryEntry;
  readonly #settings: () => Settings;
  readonly #gateways: Gateways;
  #kept: KeptGateway | undefined;

  constructor(entry: InventoryEntry, settings: () => Settings, gateways: Gateways) {
    this.#entry = entry;
    this.#settings = settings;
    this.#gateways = gateways;
  }

  get name(): string {
    return this.#entry.name;
  }

  get tags(): readonly string[] {
    return this.#entry.tags;
  }

  /** Name of the credential set that logs in there. */
  get credentials(): string {
    return this.#entry.credentials;
  }

  /** The address, for people. */
  get url(): string {
    const { url } = this.#entry.properties;
    return typeof url === 'string' ? url : '';
  }

  /** The gateway, if it was used. */
  get present(): Gateway | undefined {
    return this.#kept?.gateway;
  }

  /** Errors: `BAD_CONFIG`, each time, such as for a credential set that is not there. */
  gateway(): Gateway {
    this.#kept ??= this.#gateways.join(this.#settings());
    return this.#kept.gateway;
  }

  /** Takes up the gateway that the same settings have had, without making one. */
  resume(): void {
    if (this.#kept || this.#gateways.size === 0) return;
    try {
      this.#kept = this.#gateways.rejoin(this.#settings());
    } catch {
      // Whoever uses it is told.
    }
  }

  leave(): void {
    if (this.#kept) this.#gateways.leave(this.#kept);
    this.#kept = undefined;
  }
}

/** Many appliances from one list: what they have in common stands once, secrets stand elsewhere. */
export class Inventory {
  readonly #defaults: Values;
  readonly #credentials: CredentialSource;
  readonly #settingsOf: SettingsOf;
  readonly #gateways: Gateways;
  #appliances = new Map<string, InventoryAppliance>();

  /** Errors: `BAD_CONFIG` for defaults that are none. */
  constructor({ defaults = {}, credentials = {}, settingsOf = plainSettings, gateways = new Gateways() }: InventoryOptions = {}) {
    checkDefaults(defaults);
    this.#defaults = defaults;
    this.#credentials = isSource(credentials) ? credentials : fromObject(credentials);
    this.#settingsOf = settingsOf;
    this.#gateways = gateways;
  }

  get size(): number {
    return this.#appliances.size;
  }

  /** In the order of the list. */
  get appliances(): InventoryAppliance[] {
    return [...this.#appliances.values()];
  }

  named(name: string): InventoryAppliance | undefined {
    return this.#appliances.get(name);
  }

  /** Those that a selection fits, in the order of the list. Errors: `BAD_INPUT`. */
  select(selection: unknown): InventoryAppliance[] {
    const fits = readSelection(selection);
    return this.appliances.filter(fits);
  }

  /** Reads a text and takes it over, as a whole or not at all. Errors: `BAD_CONFIG` with line and field of what is wrong. */
  async read(text: string, format: InventoryFormat): Promise<void> {
    const { entries, lineOf } = await parseInventory(text, format);
    await this.take(entries, lineOf);
  }

  /** The same for a list that was read before. What did not change keeps its gateway, with its key and its sockets. */
  async take(raw: readonly unknown[], lineOf?: (index: number) => Promise<number | undefined>): Promise<void> {
    const entries = await readEntries(raw, (entry) => this.#check(entry), lineOf);
    const before = this.#appliances;
    this.#appliances = new Map(
      entries.map((entry) => [entry.name, new InventoryAppliance(entry, () => this.#settings(entry), this.#gateways)]),
    );
    for (const appliance of this.#appliances.values()) appliance.resume();
    for (const appliance of before.values()) appliance.leave();
  }

  /** Gateways that nobody else uses are closed after a while. */
  close(): void {
    for (const appliance of this.#appliances.values()) appliance.leave();
    this.#appliances = new Map();
  }

  /** All but what may start, or be put there, later: credentials, and what tls and proxy name. */
  #check(entry: InventoryEntry): void {
    const properties = this.#properties(entry);
    checkSettings(this.#settingsOf({ ...properties, tls: undefined, proxy: undefined }, STAND_INS));
  }

  #properties({ name, properties }: InventoryEntry): Values {
    return { url: '', ...this.#defaults, ...properties, name };
  }

  #settings(entry: InventoryEntry): Settings {
    const properties = this.#properties(entry);
    try {
      const credentials = this.#credentials.read(entry.credentials);
      const needed = neededCredentials(properties['login'], properties['secondFactor']) as readonly CredentialName[];
      const missing = needed.find((name) => !credentials[name]);
      if (missing !== undefined) {
        const where = ours(this.#credentials.where(entry.credentials, missing));
        throw bad(sentence`the credential set ${entry.credentials} has no ${ours(missing)}. ${where}`);
      }
      return this.#settingsOf(properties, credentials);
    } catch (thrown) {
      const { code, sentence: words, details } = asGatewayError(thrown);
      throw new GatewayError(code, sentence`${entry.name}: ${words}`, details);
    }
  }
}

function isSource(credentials: NonNullable<InventoryOptions['credentials']>): credentials is CredentialSource {
  return typeof credentials.read === 'function';
}

/** For scripts: texts of a table become what they stand for, objects stay. Errors: `BAD_CONFIG` naming the property. */
const plainSettings: SettingsOf = (properties, credentials) => {
  const kinds: Readonly<Record<string, string>> = SETTING_KINDS satisfies Record<PlainSetting, string>;
  const read = Object.entries(properties).map(([name, value]): [string, unknown] => {
    if (kinds[name] === 'number' && typeof value === 'string') return [name, numberOf(name, value)];
    if (kinds[name] === 'boolean' && typeof value === 'string') return [name, truthFrom(name, value)];
    return [name, kinds[name] === 'text' && typeof value === 'number' ? String(value) : value];
  });
  return { ...Object.fromEntries(read), url: urlOf(properties), ...credentials };
};

function urlOf({ url }: Values): string {
  if (typeof url === 'string') return url;
  throw bad(sentence`url has to be text, for example https://vpn.example.com.`);
}

function numberOf(name: string, text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw bad(sentence`${ours(name)} has to be a number.`);
  return number;
}

function truthFrom(name: string, text: string): boolean {
  const truth = truthOf(text);
  if (truth === undefined) throw bad(sentence`${ours(name)} has to be true or false.`);
  return truth;
}

function bad(words: ReturnType<typeof sentence>): GatewayError {
  return new GatewayError('BAD_CONFIG', words, { sent: false });
}
