import { fromObject, type CredentialSet, type CredentialSource } from '../src/inventory';
import { isObject, type JsonObject } from '../src/model/json';
import { Redactor } from '../src/model/redaction';
import { neededCredentials } from '../src/model/rules';
import { sentence } from '../src/model/sentence';
import { CREDENTIAL_NAMES, type CredentialName } from '../src/model/setting-kinds';
import { filled, originOf, secretNames, secretTexts } from './draft';
import { STORED } from './draft-nodes';
import type { InventoryNode } from './inventory';
import { setsOf, storedName } from './inventory-parts';
import { badConfig, Properties } from './properties';
import { variableOf } from './rules';

/** No list may be a way to try many passwords at one address, nor one password in many realms. */
const MOST_LOGINS_AT_ONE = 3;

/** The inventory as it is deployed, if it is. */
interface Deployed {
  readonly deployed: InventoryNode | undefined;
  /** Its credentials, variables by their names. */
  readonly texts: JsonObject;
  readonly isAsDeployed: (...properties: string[]) => boolean;
}

/** Which set is behind what `read` gave. */
interface Given {
  readonly set: string;
  /** The deployed set that it is. */
  readonly from: string | undefined;
  /** Of its values those that come from there. */
  readonly stored: ReadonlySet<string>;
}

/** The credential sets of an inventory as its dialog holds them: what was typed, and for addresses that it was deployed for what is stored. */
export class DraftSecrets implements CredentialSource {
  readonly redactor = new Redactor();
  readonly #typed: JsonObject;
  readonly #texts: JsonObject;
  readonly #ofNode: boolean;
  readonly #names: readonly string[];
  /** Where what is stored comes from, if a draft may use it at all. */
  readonly #stored: CredentialSource | undefined;
  readonly #storedNames: readonly string[];
  /** Addresses that each deployed set was deployed for. */
  readonly #origins = new Map<string, Set<string>>();
  readonly #read = new Map<string, CredentialSet>();
  readonly #given = new WeakMap<CredentialSet, Given>();
  /** By address: of what is stored those of each set, of what was typed all. */
  readonly #logins = new Map<string, Set<string>>();

  /** Errors: `BAD_CONFIG` for a place that is not deployed. */
  constructor({ credentials }: Readonly<JsonObject>, properties: Properties, { deployed, texts, isAsDeployed }: Deployed) {
    const kind = properties.choice('secrets', ['node', 'environment', 'folder']);
    const place = { node: [], environment: ['prefix'], folder: ['secretsFolder'] }[kind];
    const isSame = isAsDeployed('secrets', ...place);
    this.#ofNode = kind === 'node';
    if (!this.#ofNode && !isSame)
      throw badConfig(
        'Secrets from the environment or a folder are only read as they are deployed, and these are not. Press Done, deploy, and test then.',
      );
    this.#typed = isObject(credentials) ? credentials : {};
    this.#texts = texts;
    this.#names = setsOf(properties);
    this.#stored = isSame ? deployed?.credentialSets : undefined;
    this.#storedNames = deployed && this.#stored ? setsOf(new Properties(deployed.properties)) : [];
    for (const appliance of deployed?.appliances ?? []) {
      const origin = originOf(appliance.url);
      if (origin !== undefined) setAt(this.#origins, appliance.credentials).add(origin);
    }
  }

  /** Of each set always the same object, by which it is known again. */
  read(set: string): CredentialSet {
    let values = this.#read.get(set);
    if (!values) {
      values = this.#ofNode ? this.#entered(set) : this.#taken(set, set, CREDENTIAL_NAMES, {});
      this.#read.set(set, values);
      this.redactor.add(...secretTexts(values));
    }
    return values;
  }

  where(set: string, name: CredentialName): string {
    return (this.#ofNode ? fromObject({}, 'the dialog of the inventory') : this.#stored)?.where(set, name) ?? '';
  }

  /** Whether these came from here. */
  gave(credentials: CredentialSet): boolean {
    return this.#given.has(credentials);
  }

  /** Whether the deployed inventory logs in with that set at this address. */
  isDeployedAt(credentials: CredentialSet, url: unknown): boolean {
    const origin = originOf(url);
    const from = this.#given.get(credentials)?.from;
    return origin !== undefined && from !== undefined && this.#origins.get(from)?.has(origin) === true;
  }

  /** What may go to an appliance. Errors: `BAD_CONFIG` where it needs what is stored for others, and where too much is tried. */
  takenTo({ url, login, realm, secondFactor }: JsonObject, credentials: CredentialSet, isThere: boolean): CredentialSet {
    const { set = '', stored = new Set<string>() } = this.#given.get(credentials) ?? {};
    const isTyped = secretNames(credentials).some((name) => !stored.has(name));
    const own = JSON.stringify([set, url, login, realm, secondFactor]);
    const logins = setAt(this.#logins, `${isTyped ? '' : set} ${originOf(url)}`);
    if (logins.size >= MOST_LOGINS_AT_ONE && !logins.has(own))
      throw badConfig(
        sentence`More than ${MOST_LOGINS_AT_ONE} different logins would be tried at the same address, and accounts lock. Press Done, deploy, and test then.`,
      );
    logins.add(own);
    if (isThere) return credentials;
    if (neededCredentials(login, secondFactor).some((name) => stored.has(name)))
      throw badConfig(
        sentence`What is stored of the credential set ${set} was not deployed for this address or proxy, and only goes where it was deployed for. Type it again in the dialog, or deploy first.`,
      );
    return Object.fromEntries(Object.entries(credentials).filter(([name]) => !stored.has(name)));
  }

  /** A set that the node keeps itself, by its place: what was not touched is stored under that. */
  #entered(set: string): CredentialSet {
    const index = this.#names.indexOf(set);
    if (index < 0) return {};
    const values: Record<string, string> = {};
    const untouched = CREDENTIAL_NAMES.filter((name) => {
      const key = storedName(name, index);
      const value = this.#typed[key];
      if (value === undefined || value === null || value === STORED) return true;
      // Of a variable that text has to be deployed, or nothing is looked up.
      if (variableOf(value) !== undefined) return filled(key, value, this.#texts, this.#texts) === value;
      if (typeof value === 'string' && value !== '') values[name] = value;
      return false;
    });
    return this.#taken(set, this.#storedNames[index], untouched, values);
  }

  /** With the values of these names as they are stored. */
  #taken(set: string, from: string | undefined, names: readonly CredentialName[], typed: CredentialSet): CredentialSet {
    const there = from === undefined ? {} : (this.#stored?.read(from) ?? {});
    const stored = names.filter((name) => there[name] !== undefined);
    const values = { ...typed, ...Object.fromEntries(stored.map((name) => [name, there[name]])) };
    this.#given.set(values, { set, from, stored: new Set(stored) });
    return values;
  }
}

function setAt(sets: Map<string, Set<string>>, key: string): Set<string> {
  const there = sets.get(key) ?? new Set<string>();
  sets.set(key, there);
  return there;
}
