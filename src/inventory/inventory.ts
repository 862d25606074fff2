import type { Gateway } from '../gateway';
import { asGatewayError, GatewayError } from '../model/error';
import { readBoolean } from '../model/json';
import { requiredCredentials } from '../model/rules';
import { trusted, safeMessage } from '../model/safe-message';
import { SETTING_KINDS, type CredentialName, type PlainSetting } from '../model/setting-kinds';
import { checkSettings, type Settings } from '../model/settings';
import { credentialsFromObject, type CredentialSet, type CredentialSource } from './credentials';
import { checkDefaults, readEntries, type InventoryEntry } from './entry';
import { GatewayRegistry, type SharedGateway } from './gateway-registry';
import { parseInventory, type InventoryFormat } from './parse-inventory';
import { parseSelection, type Selectable } from './selection';

type PropertyValues = Readonly<Record<string, unknown>>;

/** Settings of the library from properties, as a table or a dialog has them, and credentials. Errors: `BAD_CONFIG`. */
export type ToSettings = (properties: PropertyValues, credentials: CredentialSet) => Settings;

export interface InventoryOptions {
  /** Any property of an appliance but its name, its address and its credentials, for entries that have none of their own. */
  readonly defaults?: PropertyValues | undefined;
  /** Credential sets by name, or where they are kept. */
  readonly credentials?: CredentialSource | Readonly<Record<string, CredentialSet>> | undefined;
  readonly toSettings?: ToSettings | undefined;
  /** Keeps the gateways; several inventories may share one. */
  readonly gateways?: GatewayRegistry | undefined;
}

/** Long enough to be taken for credentials while everything else is checked: sets may come later than the file. */
const PLACEHOLDER_CREDENTIALS: CredentialSet = {
  username: 'x',
  password: 'x',
  secondPassword: 'x',
  totpSecret: 'AAAAAAAAAAAAAAAA',
  apiKey: 'x',
};

/** One appliance of an inventory. Its gateway is made at its first use, and holds no socket before. */
export class InventoryAppliance implements Selectable {
  readonly #entry: InventoryEntry;
  readonly #settings: () => Settings;
  readonly #gateways: GatewayRegistry;
  #shared: SharedGateway | undefined;

  constructor(entry: InventoryEntry, settings: () => Settings, gateways: GatewayRegistry) {
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
  get existingGateway(): Gateway | undefined {
    return this.#shared?.gateway;
  }

  /** Errors: `BAD_CONFIG`, each time, such as for a credential set that is not there. */
  gateway(): Gateway {
    this.#shared ??= this.#gateways.acquire(this.#settings());
    return this.#shared.gateway;
  }

  /** Takes up the gateway that the same settings have had, without making one. */
  reuseGateway(): void {
    if (this.#shared || this.#gateways.size === 0) return;
    try {
      this.#shared = this.#gateways.acquireExisting(this.#settings());
    } catch {
      // Whoever uses it is told.
    }
  }

  release(): void {
    if (this.#shared) this.#gateways.release(this.#shared);
    this.#shared = undefined;
  }
}

/** Many appliances from one list: what they have in common stands once, secrets stand elsewhere. */
export class Inventory {
  readonly #defaults: PropertyValues;
  readonly #credentials: CredentialSource;
  readonly #toSettings: ToSettings;
  readonly #gateways: GatewayRegistry;
  #appliances = new Map<string, InventoryAppliance>();

  /** Errors: `BAD_CONFIG` for defaults that are none. */
  constructor({
    defaults = {},
    credentials = {},
    toSettings = settingsFromTable,
    gateways = new GatewayRegistry(),
  }: InventoryOptions = {}) {
    checkDefaults(defaults);
    this.#defaults = defaults;
    this.#credentials = isCredentialSource(credentials) ? credentials : credentialsFromObject(credentials);
    this.#toSettings = toSettings;
    this.#gateways = gateways;
  }

  get size(): number {
    return this.#appliances.size;
  }

  /** In the order of the list. */
  get appliances(): InventoryAppliance[] {
    return [...this.#appliances.values()];
  }

  findAppliance(name: string): InventoryAppliance | undefined {
    return this.#appliances.get(name);
  }

  /** Those that a selection fits, in the order of the list. Errors: `BAD_INPUT`. */
  select(selection: unknown): InventoryAppliance[] {
    const matches = parseSelection(selection);
    return this.appliances.filter(matches);
  }

  /** Reads a text and takes it over, as a whole or not at all. Errors: `BAD_CONFIG` with line and field of what is wrong. */
  async read(text: string, format: InventoryFormat): Promise<void> {
    const { entries, findLine } = await parseInventory(text, format);
    await this.loadEntries(entries, findLine);
  }

  /** The same for a list that was read before. What did not change keeps its gateway, with its key and its sockets. */
  async loadEntries(raw: readonly unknown[], findLine?: (index: number) => Promise<number | undefined>): Promise<void> {
    const entries = await readEntries(raw, (entry) => this.#check(entry), findLine);
    const previous = this.#appliances;
    this.#appliances = new Map(
      entries.map((entry) => [entry.name, new InventoryAppliance(entry, () => this.#settings(entry), this.#gateways)]),
    );
    for (const appliance of this.#appliances.values()) appliance.reuseGateway();
    for (const appliance of previous.values()) appliance.release();
  }

  /** Gateways that nobody else uses are closed after a while. */
  close(): void {
    for (const appliance of this.#appliances.values()) appliance.release();
    this.#appliances = new Map();
  }

  /** All but what may start, or be put there, later: credentials, and what tls and proxy name. */
  #check(entry: InventoryEntry): void {
    const properties = this.#properties(entry);
    checkSettings(this.#toSettings({ ...properties, tls: undefined, proxy: undefined }, PLACEHOLDER_CREDENTIALS));
  }

  #properties({ name, properties }: InventoryEntry): PropertyValues {
    return { url: '', ...this.#defaults, ...properties, name };
  }

  #settings(entry: InventoryEntry): Settings {
    const properties = this.#properties(entry);
    try {
      const credentials = this.#credentials.read(entry.credentials);
      const needed = requiredCredentials(properties['login'], properties['secondFactor']) as readonly CredentialName[];
      const missing = needed.find((name) => !credentials[name]);
      if (missing !== undefined) {
        const where = trusted(this.#credentials.describeLocation(entry.credentials, missing));
        throw badConfig(safeMessage`the credential set ${entry.credentials} has no ${trusted(missing)}. ${where}`);
      }
      return this.#toSettings(properties, credentials);
    } catch (thrown) {
      const { code, safeMessage: errorText, details } = asGatewayError(thrown);
      throw new GatewayError(code, safeMessage`${entry.name}: ${errorText}`, details);
    }
  }
}

function isCredentialSource(credentials: NonNullable<InventoryOptions['credentials']>): credentials is CredentialSource {
  return typeof credentials.read === 'function';
}

/** For scripts: texts of a table become what they stand for, objects stay. Errors: `BAD_CONFIG` naming the property. */
const settingsFromTable: ToSettings = (properties, credentials) => {
  const kinds: Readonly<Record<string, string>> = SETTING_KINDS satisfies Record<PlainSetting, string>;
  const converted = Object.entries(properties).map(([name, value]): [string, unknown] => {
    if (kinds[name] === 'number' && typeof value === 'string') return [name, parseNumber(name, value)];
    if (kinds[name] === 'boolean' && typeof value === 'string') return [name, parseBoolean(name, value)];
    return [name, kinds[name] === 'text' && typeof value === 'number' ? String(value) : value];
  });
  return { ...Object.fromEntries(converted), url: readUrl(properties), ...credentials };
};

function readUrl({ url }: PropertyValues): string {
  if (typeof url === 'string') return url;
  throw badConfig(safeMessage`url has to be text, for example https://vpn.example.com.`);
}

function parseNumber(name: string, text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw badConfig(safeMessage`${trusted(name)} has to be a number.`);
  return number;
}

function parseBoolean(name: string, text: string): boolean {
  const truth = readBoolean(text);
  if (truth === undefined) throw badConfig(safeMessage`${trusted(name)} has to be true or false.`);
  return truth;
}

function badConfig(errorText: ReturnType<typeof safeMessage>): GatewayError {
  return new GatewayError('BAD_CONFIG', errorText, { sent: false });
}
