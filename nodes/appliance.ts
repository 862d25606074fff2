import type { Node, NodeAPI, NodeDef } from 'node-red';
import { badInput, GatewayError } from '../src/model/error';
import { Gateway, type GatewayOptions } from '../src/gateway';
import { PERMISSIONS } from '../src/model/rules';
import type { Target } from '../src/inventory';
import type { ProxySettings, Settings, TlsSettings } from '../src/model/settings';
import { badConfig, Properties } from './properties';
import { ours, sentence } from '../src/model/sentence';

export const APPLIANCE = 'gateway-appliance';

/** What Node-RED keeps encrypted; only texts travel back to the editor. */
export const APPLIANCE_CREDENTIALS = {
  username: { type: 'text' },
  password: { type: 'password' },
  secondUsername: { type: 'text' },
  secondPassword: { type: 'password' },
  totpSecret: { type: 'password' },
  apiKey: { type: 'password' },
} as const;

export type Credentials = Partial<Record<keyof typeof APPLIANCE_CREDENTIALS, unknown>>;

/** Every appliance node that is deployed, of the whole process: `msg.appliance` reaches those of other tabs too. */
const deployed = new Map<string, Appliance>();

/** Appliances that come from a list, and are known by name alone. */
export interface ApplianceList {
  /** Settles when the list is there; undefined when it is. */
  pending(): Promise<void> | undefined;
  named(name: string): Target | undefined;
  names(): string[];
}

const lists = new Set<ApplianceList>();

/** Lets messages name the appliances of a list, until the answer is called. */
export function addAppliances(list: ApplianceList): () => void {
  lists.add(list);
  return () => lists.delete(list);
}

/** The runtime of one `gateway-appliance` node: settings and the one `Gateway` that all its users share. */
export class Appliance {
  readonly id: string;
  readonly label: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly #credentials: Credentials;
  readonly #red: NodeAPI;
  #gateway: Gateway | undefined;
  #fault: GatewayError | undefined;
  readonly #observing: Pick<GatewayOptions, 'onExchange' | 'host'>;

  constructor(red: NodeAPI, node: Node<Credentials>, definition: NodeDef, observing: Pick<GatewayOptions, 'onExchange' | 'host'> = {}) {
    this.#red = red;
    this.#observing = observing;
    this.id = node.id;
    this.properties = { ...definition };
    this.label = typeof definition.name === 'string' ? definition.name : '';
    this.#credentials = node.credentials;
    deployed.set(this.id, this);
    // Node-RED counts the parameters: exactly two, or `done` never comes.
    node.on('close', (_removed: boolean, done: () => void) => {
      this.close();
      done();
    });
  }

  get name(): string {
    return this.label;
  }

  /** Not a property: what inspects an appliance is not to see them. */
  get credentials(): Credentials {
    return this.#credentials;
  }

  /** The gateway, if it was used. */
  get present(): Gateway | undefined {
    return this.#gateway;
  }

  /** The gateway, made on first use: the nodes it refers to may start after this one. Throws `BAD_CONFIG`, each time. */
  gateway(): Gateway {
    if (this.#gateway) return this.#gateway;
    if (this.#fault) throw this.#fault;
    try {
      return (this.#gateway = new Gateway(settingsOf(this.#red, this.properties, this.credentials), {
        others: (name) => applianceNamed(name).gateway(),
        ...this.#observing,
      }));
    } catch (thrown) {
      if (thrown instanceof GatewayError) this.#fault = thrown;
      throw thrown;
    }
  }

  close(): void {
    // A node of the same id may be there already.
    if (deployed.get(this.id) === this) deployed.delete(this.id);
    this.#gateway?.close();
    this.#gateway = undefined;
    this.#fault = badConfig('The appliance node was closed.');
  }
}

/** All that are deployed. */
export function deployedAppliances(): Appliance[] {
  return [...deployed.values()];
}

/** The deployed appliance node of that id. */
export function applianceById(id: string): Appliance | undefined {
  return deployed.get(id);
}

/** Appliance nodes that a message can name. */
export function namedAppliances(): Appliance[] {
  return [...deployed.values()].filter(({ label }) => label !== '');
}

/** Names of appliances that come from lists. */
export function listedNames(): string[] {
  return [...lists].flatMap((list) => list.names());
}

/** Settles when every list has been read; undefined when they are. */
export function appliancesPending(): Promise<unknown> | undefined {
  const pending = [...lists].map((list) => list.pending()).filter((one) => one !== undefined);
  return pending.length > 0 ? Promise.all(pending) : undefined;
}

/** Of more names the number is enough. */
const MOST_NAMES = 30;

function knownNames(): string {
  const names = [...new Set([...namedAppliances().map(({ label }) => label), ...listedNames()])].sort();
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  return names.slice(0, MOST_NAMES).join(', ') + more || 'none';
}

/** The appliance that a message names. Errors: `BAD_INPUT` listing the names there are, `BAD_CONFIG` when two share the name. */
export function applianceNamed(name: unknown): Target {
  if (typeof name !== 'string' || name === '') {
    throw badInput(
      sentence`This node takes its appliance from the message: msg.appliance has to be the name of one. There are: ${ours(knownNames())}.`,
    );
  }
  const listed = [...lists].map((list) => list.named(name)).filter((one) => one !== undefined);
  const found: Target[] = [...namedAppliances().filter(({ label }) => label === name), ...listed];
  if (found.length > 1) throw badConfig(sentence`Two appliances have the name ${JSON.stringify(name)}. Give each a name of its own.`);
  if (!found[0]) throw badInput(sentence`There is no appliance with the name ${JSON.stringify(name)}. There are: ${ours(knownNames())}.`);
  return found[0];
}

/**
 * Settings of the library from a node's properties and credentials, with `drafts` in place of what it refers to. Errors: `BAD_CONFIG`
 * naming what is wrong.
 */
export function settingsOf(
  red: NodeAPI,
  properties: Readonly<Record<string, unknown>>,
  credentials: Credentials,
  drafts: Pick<Settings, 'tls' | 'proxy'> = {},
): Settings {
  const from = new Properties(properties);
  const secrets = new Properties(credentials);
  const read = {
    name: from.text('name'),
    url: from.text('url') ?? '',
    login: from.choice('login', ['realm', 'legacy', 'key']),
    realm: from.text('realm'),
    secondFactor: from.choice('secondFactor', ['none', 'password', 'totp', 'flow']),
    tls: drafts.tls ?? tlsOf(red, from.text('tls')),
    proxy: drafts.proxy ?? proxyOf(red, from.text('proxy')),
    timeout: from.number('timeout'),
    transferTimeout: from.number('transferTimeout'),
    connections: from.number('connections'),
    vendor: from.text('vendor'),
    brand: from.text('brand'),
    journal: from.text('journal'),
    dryRun: from.flag('dryRun'),
    pin: from.text('pin'),
    permissions: from.choice('permissions', PERMISSIONS),
    rate: from.number('rate'),
    waiting: from.number('waiting'),
    log: from.flag('log'),
    ...Object.fromEntries(Object.keys(APPLIANCE_CREDENTIALS).map((name) => [name, secrets.secret(name)])),
  };
  return given(read) as Settings;
}

export type TlsNode = Node & { valid?: boolean; addTLSOptions(options: object): TlsSettings };

// A configuration that was chosen but cannot be used is never left out: without it the connection would be another one.
function tlsOf(red: NodeAPI, id: string | undefined): TlsSettings | undefined {
  if (id === undefined) return undefined;
  const node = red.nodes.getNode(id) as Partial<TlsNode> | null | undefined;
  if (typeof node?.addTLSOptions !== 'function') throw notDeployed('TLS configuration');
  if (node.valid === false) throw badConfig('The TLS configuration of the appliance node is not valid. Open it and check its files.');
  return node.addTLSOptions({});
}

type ProxyNode = Node<{ username?: string; password?: string }> & { url?: unknown; noproxy?: unknown };

function proxyOf(red: NodeAPI, id: string | undefined): ProxySettings | undefined {
  if (id === undefined) return undefined;
  const node = red.nodes.getNode(id) as Partial<ProxyNode> | null | undefined;
  if (node?.type !== 'http proxy') throw notDeployed('proxy configuration');
  // The type has a space in it: without stored credentials Node-RED leaves the property out.
  return proxyFrom({ url: node.url, noproxy: node.noproxy, ...node.credentials });
}

/** Errors: `BAD_CONFIG` for an address that is none. */
export function proxyFrom(values: { url?: unknown; noproxy?: unknown; username?: unknown; password?: unknown }): ProxySettings {
  const { username, password } = values;
  const url = new Properties({ 'url of the proxy': values.url }).text('url of the proxy');
  if (url === undefined || !URL.canParse(url))
    throw badConfig('The proxy configuration has no usable URL. Enter one such as http://proxy.example.com:3128.');
  const noproxy = Array.isArray(values.noproxy) ? values.noproxy.filter((entry) => typeof entry === 'string') : undefined;
  return given({ url, username, password, noproxy }) as ProxySettings;
}

function notDeployed(what: string): GatewayError {
  return badConfig(sentence`The ${ours(what)} that the appliance node refers to is missing or disabled. Choose another, or deploy first.`);
}

/** Without the properties that are undefined. */
function given(values: Record<string, unknown>): unknown {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
