import type { Node, NodeAPI, NodeDef } from 'node-red';
import { badInput, GatewayError } from '../../src/model/error';
import { Gateway, type GatewayOptions } from '../../src/gateway/gateway';
import { PERMISSIONS } from '../../src/model/rules';
import type { ApplianceTarget } from '../../src/inventory';
import type { ProxySettings, Settings, TlsSettings } from '../../src/model/settings';
import { badConfig, NodeProperties } from '../common/node-properties';
import { trusted, safeMessage } from '../../src/model/safe-message';

export const APPLIANCE_NODE_TYPE = 'gateway-appliance';

/** The credential fields, which Node-RED stores encrypted. Only those of type text are sent back to the editor. */
export const APPLIANCE_CREDENTIALS = {
  username: { type: 'text' },
  password: { type: 'password' },
  secondUsername: { type: 'text' },
  secondPassword: { type: 'password' },
  totpSecret: { type: 'password' },
  apiKey: { type: 'password' },
  signingKey: { type: 'password' },
} as const;

export type ApplianceCredentials = Partial<Record<keyof typeof APPLIANCE_CREDENTIALS, unknown>>;

/** All deployed appliance nodes of the process. `msg.appliance` can name those of other tabs too. */
const deployedById = new Map<string, ApplianceNode>();

/** Appliances that have a name but no node, for example those of an inventory. */
interface ApplianceList {
  /** Settles when the list is loaded; undefined afterwards. */
  pending(): Promise<void> | undefined;
  findAppliance(name: string): ApplianceTarget | undefined;
  listNames(): string[];
}

const applianceLists = new Set<ApplianceList>();

/** Whether an appliance or inventory rehearses. */
export function hasRehearsal({ rehearsal }: Readonly<Record<string, unknown>>): boolean {
  return typeof rehearsal === 'string' && rehearsal.trim() !== '';
}

/** Lets messages name the appliances of a list. Returns a function that removes the list. */
export function registerApplianceList(list: ApplianceList): () => void {
  applianceLists.add(list);
  return () => applianceLists.delete(list);
}

/** The runtime of a `gateway-appliance` node: its settings, and the `Gateway` that all nodes share. */
export class ApplianceNode {
  readonly id: string;
  readonly label: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly #credentials: ApplianceCredentials;
  readonly #red: NodeAPI;
  #gateway: Gateway | undefined;
  #fault: GatewayError | undefined;
  readonly #diagnostics: Pick<GatewayOptions, 'onExchange' | 'onRunEnd' | 'hostInfo' | 'stateFolder'>;

  constructor(
    red: NodeAPI,
    node: Node<ApplianceCredentials>,
    definition: NodeDef,
    diagnostics: Pick<GatewayOptions, 'onExchange' | 'onRunEnd' | 'hostInfo' | 'stateFolder'> = {},
  ) {
    this.#red = red;
    this.#diagnostics = diagnostics;
    this.id = node.id;
    this.properties = { ...definition };
    this.label = typeof definition.name === 'string' ? definition.name : '';
    // Undefined if Node-RED could not decrypt the credentials.
    this.#credentials = node.credentials ?? {};
    deployedById.set(this.id, this);
    // Node-RED waits for `done` only if the handler has exactly two parameters.
    node.on('close', (_removed: boolean, done: () => void) => {
      this.close();
      done();
    });
  }

  get name(): string {
    return this.label;
  }

  /** Returns the credentials through an accessor, so that inspecting the node does not show them. */
  get credentials(): ApplianceCredentials {
    return this.#credentials;
  }

  /** Whether the dialog sets a snapshot folder to rehearse with, even one that cannot be used. */
  get isRehearsal(): boolean {
    return hasRehearsal(this.properties);
  }

  /** The gateway; undefined before its first use. */
  get existingGateway(): Gateway | undefined {
    return this.#gateway;
  }

  /** Creates the gateway on first use, because the nodes that it refers to can start later. Errors: `BAD_CONFIG`. */
  gateway(): Gateway {
    if (this.#gateway) return this.#gateway;
    if (this.#fault) throw this.#fault;
    try {
      return (this.#gateway = new Gateway(readApplianceSettings(this.#red, this.properties, this.credentials), {
        resolveAppliance: (name) => getApplianceByName(name).gateway(),
        ...this.#diagnostics,
      }));
    } catch (thrown) {
      const error = this.#explainMissingCredentials(thrown);
      if (error instanceof GatewayError) this.#fault = error;
      throw error;
    }
  }

  /** Explains missing credentials: Node-RED starts a node without them if it cannot decrypt them. */
  #explainMissingCredentials(thrown: unknown): unknown {
    const isEmpty = Object.values({ ...this.#credentials, signingKey: undefined }).every((value) => value === undefined || value === '');
    if (!isEmpty || !(thrown instanceof GatewayError) || !/^(?:username|password|apiKey) is missing/.test(thrown.message)) return thrown;
    return badConfig(
      'The appliance has no credentials. Enter them in the appliance node. If they were there before, Node-RED could not decrypt them: check credentialSecret in its settings.',
      'credentials-missing',
    );
  }

  close(): void {
    // A deploy can already have created a node with the same id.
    if (deployedById.get(this.id) === this) deployedById.delete(this.id);
    this.#gateway?.close();
    this.#gateway = undefined;
    this.#fault = badConfig('The appliance node was closed.');
  }
}

/** Returns all deployed appliance nodes. */
export function listDeployedAppliances(): ApplianceNode[] {
  return [...deployedById.values()];
}

/** Returns the deployed appliance node with this id. */
export function getApplianceById(id: string): ApplianceNode | undefined {
  return deployedById.get(id);
}

/** Returns the appliance nodes that a message can name. */
export function listNamedAppliances(): ApplianceNode[] {
  return [...deployedById.values()].filter(({ label }) => label !== '');
}

/** Returns the names of appliances that have no node. */
export function listInventoryApplianceNames(): string[] {
  return [...applianceLists].flatMap((list) => list.listNames());
}

/** Settles when all lists are loaded; undefined afterwards. */
export function waitForApplianceLists(): Promise<unknown> | undefined {
  const pending = [...applianceLists].map((list) => list.pending()).filter((promise) => promise !== undefined);
  return pending.length > 0 ? Promise.all(pending) : undefined;
}

/** Maximum number of names in an error. */
const MAX_LISTED_NAMES = 30;

function describeKnownNames(): string {
  const names = [...new Set([...listNamedAppliances().map(({ label }) => label), ...listInventoryApplianceNames()])].sort();
  const more = names.length > MAX_LISTED_NAMES ? ` and ${names.length - MAX_LISTED_NAMES} more` : '';
  return names.slice(0, MAX_LISTED_NAMES).join(', ') + more || 'none';
}

/** Returns the appliance with this name. Errors: `BAD_INPUT` with the known names, `BAD_CONFIG` if two have the name. */
export function getApplianceByName(name: unknown): ApplianceTarget {
  if (typeof name !== 'string' || name === '') {
    throw badInput(
      safeMessage`This node takes its appliance from the message, but msg.appliance is not a name. Set it to one of: ${trusted(describeKnownNames())}.`,
      { statusReason: 'unknown-appliance' },
    );
  }
  const listed = [...applianceLists].map((list) => list.findAppliance(name)).filter((appliance) => appliance !== undefined);
  const found: ApplianceTarget[] = [...listNamedAppliances().filter(({ label }) => label === name), ...listed];
  if (found.length > 1) throw badConfig(safeMessage`Two appliances have the name ${JSON.stringify(name)}. Give each a different name.`);
  if (!found[0])
    throw badInput(
      safeMessage`There is no appliance with the name ${JSON.stringify(name)}. Set msg.appliance to one of: ${trusted(describeKnownNames())}.`,
      {
        statusReason: 'unknown-appliance',
      },
    );
  return found[0];
}

/**
 * Reads the library settings from the properties and credentials of a node. `overrides` replaces the nodes that it refers to. Errors:
 * `BAD_CONFIG`.
 */
export function readApplianceSettings(
  red: NodeAPI,
  properties: Readonly<Record<string, unknown>>,
  credentials: ApplianceCredentials,
  overrides: Pick<Settings, 'tls' | 'proxy'> = {},
): Settings {
  const config = new NodeProperties(properties);
  const secrets = new NodeProperties(credentials);
  const values = {
    name: config.text('name'),
    url: config.text('url') ?? '',
    login: config.choice('login', ['realm', 'legacy', 'key']),
    realm: config.text('realm'),
    secondFactor: config.choice('secondFactor', ['none', 'password', 'totp', 'flow']),
    tls: overrides.tls ?? getTlsSettings(red, config.text('tls')),
    proxy: overrides.proxy ?? getProxySettings(red, config.text('proxy')),
    timeout: config.number('timeout'),
    transferTimeout: config.number('transferTimeout'),
    connections: config.number('connections'),
    vendor: config.text('vendor'),
    brand: config.text('brand'),
    journal: config.text('journal'),
    dryRun: config.flag('dryRun'),
    rehearsal: config.text('rehearsal'),
    pin: config.text('pin'),
    permissions: config.choice('permissions', PERMISSIONS),
    rate: config.number('rate'),
    waiting: config.number('waiting'),
    log: config.flag('log'),
    ...Object.fromEntries(Object.keys(APPLIANCE_CREDENTIALS).map((name) => [name, secrets.secret(name)])),
  };
  return withoutUndefined(values) as Settings;
}

export type TlsNode = Node & { valid?: boolean; addTLSOptions(options: object): TlsSettings };

// An unusable configuration is an error: without it the connection would use other rules.
function getTlsSettings(red: NodeAPI, id: string | undefined): TlsSettings | undefined {
  if (id === undefined) return undefined;
  const node = red.nodes.getNode(id) as Partial<TlsNode> | null | undefined;
  if (typeof node?.addTLSOptions !== 'function') throw createNotDeployedError('TLS configuration');
  if (node.valid === false) throw badConfig('The TLS configuration of the appliance node is not valid. Open it and check its files.');
  return node.addTLSOptions({});
}

type ProxyNode = Node<{ username?: string; password?: string }> & { url?: unknown; noproxy?: unknown };

function getProxySettings(red: NodeAPI, id: string | undefined): ProxySettings | undefined {
  if (id === undefined) return undefined;
  const node = red.nodes.getNode(id) as Partial<ProxyNode> | null | undefined;
  if (node?.type !== 'http proxy') throw createNotDeployedError('proxy configuration');
  // Node-RED leaves `credentials` out for this node type if none are stored.
  return toProxySettings({ url: node.url, noproxy: node.noproxy, ...node.credentials });
}

/** Converts a proxy node to settings. Errors: `BAD_CONFIG` if its URL is invalid. */
export function toProxySettings(values: { url?: unknown; noproxy?: unknown; username?: unknown; password?: unknown }): ProxySettings {
  const { username, password } = values;
  const url = new NodeProperties({ 'url of the proxy': values.url }).text('url of the proxy');
  if (url === undefined || !URL.canParse(url))
    throw badConfig('The proxy configuration has no usable URL. Enter one such as http://proxy.example.com:3128.');
  const noproxy = Array.isArray(values.noproxy) ? values.noproxy.filter((entry) => typeof entry === 'string') : undefined;
  return withoutUndefined({ url, username, password, noproxy }) as ProxySettings;
}

function createNotDeployedError(configurationName: string): GatewayError {
  return badConfig(
    safeMessage`The ${trusted(configurationName)} that the appliance node refers to is missing or disabled. Choose another, or deploy first.`,
  );
}

/** Copies an object without its undefined properties. */
function withoutUndefined(values: Record<string, unknown>): unknown {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
