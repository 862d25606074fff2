import { credentialsFromObject, type CredentialSet, type CredentialSource } from '../../src/inventory';
import { isObject, type JsonObject } from '../../src/model/json';
import { Redactor } from '../../src/model/redaction';
import { listRequiredCredentials } from '../../src/model/rules';
import { safeMessage } from '../../src/model/safe-message';
import { CREDENTIAL_NAMES, type CredentialName } from '../../src/model/setting-kinds';
import { resolveDraftValue, parseUrlOrigin, listSecretNames, listSecretValues } from './draft-settings';
import { STORED_SECRET_PLACEHOLDER } from './draft-config-nodes';
import type { InventoryNode } from '../inventory/inventory-node';
import { readCredentialSetNames, getStoredCredentialName } from '../inventory/inventory-config';
import { badConfig, NodeProperties } from '../common/node-properties';
import { parseVariableReference } from '../common/rules';

/** Limits password guesses: one list must not try many passwords, or many realms, at one address. */
const MAX_LOGINS_PER_ADDRESS = 3;

/** The deployed inventory, if there is one. */
interface DeployedInventory {
  readonly deployed: InventoryNode | undefined;
  /** Credentials in which variables are not resolved. */
  readonly storedCredentials: JsonObject;
  readonly isAsDeployed: (...properties: string[]) => boolean;
}

/** The origin of the values that `read` returned. */
interface IssuedSet {
  readonly set: string;
  /** The deployed credential set with the same values. */
  readonly deployedSet: string | undefined;
  /** Names of the values that come from the deployed set. */
  readonly storedNames: ReadonlySet<string>;
}

/** The credential sets of an undeployed inventory: entered values, and stored values for the addresses of their deploy. */
export class DraftCredentials implements CredentialSource {
  readonly redactor = new Redactor();
  readonly #typedCredentials: JsonObject;
  readonly #storedCredentials: JsonObject;
  readonly #isStoredInNode: boolean;
  readonly #setNames: readonly string[];
  /** The credential set that stored values come from; undefined if the draft may not use stored values. */
  readonly #deployedSource: CredentialSource | undefined;
  readonly #deployedSetNames: readonly string[];
  /** The addresses of each deployed set. */
  readonly #deployedOrigins = new Map<string, Set<string>>();
  readonly #sets = new Map<string, CredentialSet>();
  readonly #issued = new WeakMap<CredentialSet, IssuedSet>();
  /** Number of tried logins by address. Stored values are counted per set, entered values together. */
  readonly #logins = new Map<string, Set<string>>();

  /** Errors: `BAD_CONFIG` if the location of the secrets is not deployed. */
  constructor(
    { credentials }: Readonly<JsonObject>,
    properties: NodeProperties,
    { deployed, storedCredentials, isAsDeployed }: DeployedInventory,
  ) {
    const kind = properties.choice('secrets', ['node', 'environment', 'folder']);
    const sourceProperties = { node: [], environment: ['prefix'], folder: ['secretsFolder'] }[kind];
    const isSame = isAsDeployed('secrets', ...sourceProperties);
    this.#isStoredInNode = kind === 'node';
    if (!this.#isStoredInNode && !isSame)
      throw badConfig(
        'Secrets from the environment or a folder are read only as deployed, and these settings are not deployed. Press Done, deploy, then test.',
      );
    this.#typedCredentials = isObject(credentials) ? credentials : {};
    this.#storedCredentials = storedCredentials;
    this.#setNames = readCredentialSetNames(properties);
    this.#deployedSource = isSame ? deployed?.credentialSource : undefined;
    this.#deployedSetNames = deployed && this.#deployedSource ? readCredentialSetNames(new NodeProperties(deployed.properties)) : [];
    for (const appliance of deployed?.appliances ?? []) {
      const origin = parseUrlOrigin(appliance.url);
      // An entry that was added to the file after the deploy must not get a stored password.
      if (origin !== undefined && deployed?.isHostAllowed(appliance.credentials, appliance.url))
        getOrCreateSet(this.#deployedOrigins, appliance.credentials).add(origin);
    }
  }

  /** Returns the same object for the same set, so that `hasIssued` recognizes it. */
  read(set: string): CredentialSet {
    let values = this.#sets.get(set);
    if (!values) {
      values = this.#isStoredInNode ? this.#readTyped(set) : this.#withStored(set, set, CREDENTIAL_NAMES, {});
      this.#sets.set(set, values);
      this.redactor.add(...listSecretValues(values));
    }
    return values;
  }

  describeLocation(set: string, name: CredentialName): string {
    return (
      (this.#isStoredInNode ? credentialsFromObject({}, 'the dialog of the inventory') : this.#deployedSource)?.describeLocation(
        set,
        name,
      ) ?? ''
    );
  }

  /** Whether `read` has returned this credentials object. */
  hasIssued(credentials: CredentialSet): boolean {
    return this.#issued.has(credentials);
  }

  /** Whether the deployed inventory uses this set at this address. */
  isDeployedAt(credentials: CredentialSet, url: unknown): boolean {
    const origin = parseUrlOrigin(url);
    const deployedSet = this.#issued.get(credentials)?.deployedSet;
    return origin !== undefined && deployedSet !== undefined && this.#deployedOrigins.get(deployedSet)?.has(origin) === true;
  }

  /**
   * Returns the values that may be sent. Errors: `BAD_CONFIG` if the login needs values stored for another address, or after too many
   * logins.
   */
  credentialsFor({ url, login, realm, secondFactor }: JsonObject, credentials: CredentialSet, isDeployed: boolean): CredentialSet {
    const { set = '', storedNames = new Set<string>() } = this.#issued.get(credentials) ?? {};
    const hasTypedSecret = listSecretNames(credentials).some((name) => !storedNames.has(name));
    const loginKey = JSON.stringify([set, url, login, realm, secondFactor]);
    const logins = getOrCreateSet(this.#logins, `${hasTypedSecret ? '' : set} ${parseUrlOrigin(url)}`);
    if (logins.size >= MAX_LOGINS_PER_ADDRESS && !logins.has(loginKey))
      throw badConfig(
        safeMessage`The test would try more than ${MAX_LOGINS_PER_ADDRESS} different logins at the same address, which can lock accounts. Press Done, deploy, then test.`,
      );
    logins.add(loginKey);
    if (isDeployed) return credentials;
    if (listRequiredCredentials(login, secondFactor).some((name) => storedNames.has(name)))
      throw badConfig(
        safeMessage`The stored credential set ${set} is sent only to the address and proxy of its deploy. Type it again in the dialog, or deploy first.`,
      );
    return Object.fromEntries(Object.entries(credentials).filter(([name]) => !storedNames.has(name)));
  }

  /** Reads a set that the node stores. An untouched value comes from the deployed set at the same position. */
  #readTyped(set: string): CredentialSet {
    const index = this.#setNames.indexOf(set);
    if (index < 0) return {};
    const values: Record<string, string> = {};
    const untouchedNames = CREDENTIAL_NAMES.filter((name) => {
      const key = getStoredCredentialName(name, index);
      const value = this.#typedCredentials[key];
      if (value === undefined || value === null || value === STORED_SECRET_PLACEHOLDER) return true;
      // A variable must be deployed. Its value is never looked up here.
      if (parseVariableReference(value) !== undefined)
        return resolveDraftValue(key, value, this.#storedCredentials, this.#storedCredentials) === value;
      if (typeof value === 'string' && value !== '') values[name] = value;
      return false;
    });
    return this.#withStored(set, this.#deployedSetNames[index], untouchedNames, values);
  }

  /** Adds the stored values with these names. */
  #withStored(set: string, deployedSet: string | undefined, names: readonly CredentialName[], typedValues: CredentialSet): CredentialSet {
    const deployedValues = deployedSet === undefined ? {} : (this.#deployedSource?.read(deployedSet) ?? {});
    const storedNames = names.filter((name) => deployedValues[name] !== undefined);
    const values = { ...typedValues, ...Object.fromEntries(storedNames.map((name) => [name, deployedValues[name]])) };
    this.#issued.set(values, { set, deployedSet, storedNames: new Set(storedNames) });
    return values;
  }
}

function getOrCreateSet(sets: Map<string, Set<string>>, key: string): Set<string> {
  const existing = sets.get(key) ?? new Set<string>();
  sets.set(key, existing);
  return existing;
}
