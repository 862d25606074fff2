import type { Gateway } from '../gateway/gateway';
import { asGatewayError, GatewayError } from '../model/error';
import { readBoolean } from '../model/json';
import { listRequiredCredentials } from '../model/rules';
import { trusted, safeMessage } from '../model/safe-message';
import { SETTING_KINDS, type CredentialName, type ScalarSetting } from '../model/setting-kinds';
import { checkSettings, isRehearsing, type Settings } from '../model/settings';
import { AllowedHosts } from './allowed-hosts';
import { credentialsFromObject, type CredentialSet, type CredentialSource } from './credentials';
import { checkInventoryDefaults, readInventoryEntries, type InventoryEntry } from './entry';
import { GatewayRegistry, type SharedGateway } from './gateway-registry';
import { assertGuardsNotWeakened } from './guards';
import { parseInventory, type InventoryFormat } from './parse-inventory';
import { parseSelection, type Selectable } from './selection';
import { forEachInTimeSlices } from './time-slices';

type PropertyValues = Readonly<Record<string, unknown>>;

/** Converts the properties of an entry and its credentials to settings of a `Gateway`. Errors: `BAD_CONFIG`. */
export type ToSettings = (properties: PropertyValues, credentials: CredentialSet) => Settings;

export interface InventoryOptions {
  /** Values for properties that an entry does not set. Any property except the name and the credentials. */
  readonly defaults?: PropertyValues | undefined;
  /** Credential sets by name, or their source. */
  readonly credentials?: CredentialSource | Readonly<Record<string, CredentialSet>> | undefined;
  readonly toSettings?: ToSettings | undefined;
  /**
   * Hosts that credential sets may be sent to, in addition to the hosts of the first list: `*.example.com` for every set,
   * `eu=*.example.com` for the set `eu`. Default: none, so a host that a later list adds is refused.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /** The registry of the gateways. Several inventories can share one. */
  readonly gateways?: GatewayRegistry | undefined;
}

/** Valid credentials for the check of all other settings, because sets may be entered later than the file. */
const PLACEHOLDER_CREDENTIALS: CredentialSet = {
  username: 'x',
  password: 'x',
  secondPassword: 'x',
  totpSecret: 'AAAAAAAAAAAAAAAA',
  apiKey: 'x',
};

/** Maximum number of set names in an error. */
const MAX_LISTED_SETS = 20;

/** One appliance of an inventory. Its gateway is created at the first use. */
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

  /** The name of the credential set for the login. */
  get credentials(): string {
    return this.#entry.credentials;
  }

  /** The address, for display. */
  get url(): string {
    const { url } = this.#entry.properties;
    return typeof url === 'string' ? url : '';
  }

  /** The gateway, if one was created. */
  get existingGateway(): Gateway | undefined {
    return this.#shared?.gateway;
  }

  /** Returns the gateway. Errors: `BAD_CONFIG` at each call, for example for a missing credential set. */
  gateway(): Gateway {
    this.#shared ??= this.#gateways.acquire(this.#settings());
    return this.#shared.gateway;
  }

  /** Uses the open gateway of the same settings again, if there is one. */
  reuseGateway(): void {
    if (this.#shared || this.#gateways.size === 0) return;
    try {
      this.#shared = this.#gateways.acquireExisting(this.#settings());
    } catch {
      // The next call of `gateway` reports the error.
    }
  }

  release(): void {
    if (this.#shared) this.#gateways.release(this.#shared);
    this.#shared = undefined;
  }
}

/** Many appliances from one list, with common defaults. Secrets are in credential sets, never in the list. */
export class Inventory {
  readonly #defaults: PropertyValues;
  readonly #credentials: CredentialSource;
  readonly #toSettings: ToSettings;
  readonly #gateways: GatewayRegistry;
  readonly #allowedHosts: AllowedHosts;
  #appliances = new Map<string, InventoryAppliance>();
  /** Counts loads and closes, so that an older load does not replace a newer list. */
  #loads = 0;

  /** Errors: `BAD_CONFIG` for invalid defaults. */
  constructor({
    defaults = {},
    credentials = {},
    toSettings = settingsFromTable,
    allowedHosts,
    gateways = new GatewayRegistry(),
  }: InventoryOptions = {}) {
    checkInventoryDefaults(defaults);
    this.#defaults = defaults;
    this.#credentials = isCredentialSource(credentials) ? credentials : credentialsFromObject(credentials);
    this.#toSettings = toSettings;
    this.#gateways = gateways;
    this.#allowedHosts = new AllowedHosts(allowedHosts);
  }

  get size(): number {
    return this.#appliances.size;
  }

  /** The appliances in the order of the list. */
  get appliances(): InventoryAppliance[] {
    return [...this.#appliances.values()];
  }

  findAppliance(name: string): InventoryAppliance | undefined {
    return this.#appliances.get(name);
  }

  /** The appliances that match a selection, in the order of the list. Errors: `BAD_INPUT`. */
  select(selection: unknown): InventoryAppliance[] {
    const matches = parseSelection(selection);
    return this.appliances.filter(matches);
  }

  /** Loads a text completely or not at all. Errors: `BAD_CONFIG` with the line and field of each fault. */
  async read(text: string, format: InventoryFormat): Promise<void> {
    const { entries, findLine } = await parseInventory(text, format);
    await this.loadEntries(entries, findLine);
  }

  /** Loads a parsed list. Unchanged appliances keep their gateway, with its API key and connections. */
  async loadEntries(raw: readonly unknown[], findLine?: (index: number) => Promise<number | undefined>): Promise<void> {
    const load = ++this.#loads;
    const entries = await readInventoryEntries(raw, (entry) => this.#check(entry), findLine);
    this.#allowedHosts.learn(entries.map((entry) => this.#credentialUse(entry)));
    const appliances = new Map<string, InventoryAppliance>();
    await forEachInTimeSlices(entries, (entry) => {
      const appliance = new InventoryAppliance(entry, () => this.#settings(entry), this.#gateways);
      appliance.reuseGateway();
      appliances.set(entry.name, appliance);
    });
    // A later load or a close came in between.
    const isOutdated = load !== this.#loads;
    const unused = isOutdated ? appliances : this.#appliances;
    if (!isOutdated) this.#appliances = appliances;
    for (const appliance of unused.values()) appliance.release();
  }

  /** Releases all gateways. Unused gateways are closed after 90 seconds. */
  close(): void {
    this.#loads++;
    for (const appliance of this.#appliances.values()) appliance.release();
    this.#appliances = new Map();
  }

  /** Checks an entry without its credentials and the nodes of tls and proxy, which may be added later. */
  #check(entry: InventoryEntry): void {
    const properties = this.#properties(entry);
    assertGuardsNotWeakened(entry.properties, this.#defaults);
    checkSettings(this.#toSettings({ ...properties, tls: undefined, proxy: undefined }, PLACEHOLDER_CREDENTIALS));
  }

  /** Whether a credential set may be sent to this address. */
  isHostAllowed(credentials: string, url: string): boolean {
    return this.#allowedHosts.isAllowed({ credentials, url });
  }

  #credentialUse(entry: InventoryEntry): { credentials: string; url: unknown } {
    return { credentials: entry.credentials, url: this.#properties(entry)['url'] };
  }

  #properties({ name, properties }: InventoryEntry): PropertyValues {
    return { url: '', ...this.#defaults, ...properties, name };
  }

  #settings(entry: InventoryEntry): Settings {
    const properties = this.#properties(entry);
    try {
      this.#allowedHosts.assertAllowed(this.#credentialUse(entry));
      const credentials = this.#credentials.read(entry.credentials);
      const needed = listRequiredCredentials(properties['login'], properties['secondFactor']) as readonly CredentialName[];
      const missing = needed.find((name) => !credentials[name]);
      const settings = this.#toSettings(properties, credentials);
      if (missing !== undefined && !isRehearsing(settings)) {
        const location = trusted(this.#credentials.describeLocation(entry.credentials, missing));
        const isUnknown = Object.keys(credentials).length === 0;
        const names = isUnknown ? this.#credentials.listNames?.() : undefined;
        const problem = names
          ? safeMessage`there is no credential set ${entry.credentials}. There are: ${names.slice(0, MAX_LISTED_SETS).join(', ') || 'none'}.`
          : safeMessage`the credential set ${entry.credentials} has no ${trusted(missing)}.`;
        throw badConfig(safeMessage`${problem} ${location}`);
      }
      if (isUnverified(settings) && entry.properties['tls'] !== undefined) this.#assertUnverifiedByDefault(properties, credentials);
      return settings;
    } catch (thrown) {
      const { code, safeMessage: errorText, details } = asGatewayError(thrown);
      throw new GatewayError(code, safeMessage`${entry.name}: ${errorText}`, details);
    }
  }

  /** The TLS configuration that an entry names must not switch off a verification that the defaults have. */
  #assertUnverifiedByDefault(properties: PropertyValues, credentials: CredentialSet): void {
    if (isUnverified(this.#toSettings({ ...properties, tls: this.#defaults['tls'] }, credentials))) return;
    throw badConfig(safeMessage`tls: the entry switches off the verification of the certificate, which its inventory requires.`);
  }
}

function isUnverified({ tls }: Settings): boolean {
  return tls?.rejectUnauthorized === false;
}

function isCredentialSource(credentials: NonNullable<InventoryOptions['credentials']>): credentials is CredentialSource {
  return typeof credentials.read === 'function';
}

/** The conversion for scripts. Texts become numbers and booleans. Errors: `BAD_CONFIG` with the property. */
const settingsFromTable: ToSettings = (properties, credentials) => {
  const kinds: Readonly<Record<string, string>> = SETTING_KINDS satisfies Record<ScalarSetting, string>;
  const converted = Object.entries(properties).map(([name, value]): [string, unknown] => {
    if (kinds[name] === 'number' && typeof value === 'string') return [name, parseNumber(name, value)];
    if (kinds[name] === 'boolean' && typeof value === 'string') return [name, parseBoolean(name, value)];
    return [name, kinds[name] === 'text' && typeof value === 'number' ? String(value) : value];
  });
  return { ...Object.fromEntries(converted), url: readUrl(properties), ...credentials };
};

function readUrl({ url }: PropertyValues): string {
  if (typeof url === 'string') return url;
  throw badConfig(safeMessage`url must be a text such as https://vpn.example.com.`);
}

function parseNumber(name: string, text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw badConfig(safeMessage`${trusted(name)} must be a number.`);
  return number;
}

function parseBoolean(name: string, text: string): boolean {
  const truth = readBoolean(text);
  if (truth === undefined) throw badConfig(safeMessage`${trusted(name)} must be true or false.`);
  return truth;
}

function badConfig(errorText: ReturnType<typeof safeMessage>): GatewayError {
  return new GatewayError('BAD_CONFIG', errorText, { sent: false });
}
