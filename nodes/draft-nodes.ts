import type { NodeAPI } from 'node-red';
import { isObject, type JsonObject } from '../src/model/json';
import { ours, sentence } from '../src/model/sentence';
import type { ProxySettings, TlsSettings } from '../src/model/settings';
import { proxyFrom, type TlsNode } from './appliance';
import { badConfig } from './properties';
import { variableOf } from './rules';

/** What the editor shows in place of a stored secret. */
export const STORED = '__PWRD__';

/** The nodes that an appliance refers to, where they are not deployed as they stand in the editor. */
export interface DraftNodes {
  readonly tls?: TlsSettings;
  readonly proxy?: ProxySettings;
}

/**
 * What the dialog sends of a TLS configuration and a proxy. Files and variables are only read as they are deployed: who may open a dialog
 * may not thereby read this machine. A stored password of a proxy goes to the address that it was deployed for.
 */
export function draftNodes(red: NodeAPI, nodes: unknown, properties: JsonObject): DraftNodes {
  const [tls, proxy] = [draftOf('tls', nodes, properties), draftOf('proxy', nodes, properties)];
  return { ...(tls && { tls: tlsOf(red, tls) }), ...(proxy && { proxy: proxyOf(red, proxy) }) };
}

/** Whether it goes through a proxy at an address that is not deployed. */
export function isOtherProxy(red: NodeAPI, nodes: unknown, properties: JsonObject): boolean {
  const proxy = draftOf('proxy', nodes, properties);
  return proxy !== undefined && text(proxy.url) !== text(textsOf(red, proxy.id).properties.url);
}

/** That node, if the appliance refers to it. */
function draftOf(name: 'tls' | 'proxy', nodes: unknown, properties: JsonObject): JsonObject | undefined {
  const node = isObject(nodes) ? nodes[name] : undefined;
  return isObject(node) && node.id === properties[name] ? node : undefined;
}

/** A node as it stands in the flow file, variables by their names, and what is stored of it. */
export function textsOf(red: NodeAPI, id: unknown): { properties: JsonObject; credentials: JsonObject } {
  let properties: JsonObject = {};
  red.nodes.eachNode((node) => {
    if (node.id === id) properties = { ...node };
  });
  return { properties, credentials: (red.nodes.getCredentials(String(id)) as JsonObject | undefined) ?? {} };
}

const FILES = ['cert', 'key', 'ca', 'p12', 'certEnv', 'keyEnv', 'caEnv'];
const ELSEWHERE = ['certType', ...FILES];
const CONTENTS = { certdata: 'cert', keydata: 'key', cadata: 'ca', p12data: 'pfx', passphrase: 'passphrase' } as const;

const text = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

function tlsOf(red: NodeAPI, draft: JsonObject): TlsSettings {
  const { properties, credentials } = textsOf(red, draft.id);
  const typed = isObject(draft.credentials) ? draft.credentials : {};
  const contents: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(CONTENTS)) {
    const value = text(typed[name] === undefined || typed[name] === STORED ? credentials[name] : typed[name]);
    if (variableOf(value) !== undefined) throw asDeployed('TLS');
    if (value !== '') contents[option] = name === 'p12data' ? Buffer.from(value, 'base64') : value;
  }
  const { servername, alpnprotocol } = draft;
  if ([servername, alpnprotocol].some((value) => variableOf(value) !== undefined)) throw asDeployed('TLS');
  const options = {
    ...(text(servername) !== '' && { servername: text(servername) }),
    ...(text(alpnprotocol) !== '' && { ALPNProtocols: [text(alpnprotocol)] }),
    rejectUnauthorized: draft.verifyservercert !== false,
  };
  if (!FILES.some((name) => text(draft[name]) !== '')) return { ...contents, ...options };
  const node = red.nodes.getNode(String(draft.id)) as Partial<TlsNode> | null | undefined;
  const same = ELSEWHERE.every((name) => text(draft[name]) === text(properties[name]));
  if (!same || !node?.addTLSOptions || node.valid === false) throw asDeployed('TLS');
  return { ...node.addTLSOptions({}), ...options };
}

function proxyOf(red: NodeAPI, draft: JsonObject): ProxySettings {
  const { properties, credentials } = textsOf(red, draft.id);
  const typed = isObject(draft.credentials) ? draft.credentials : {};
  if ([draft.url, ...Object.values(typed)].some((value) => variableOf(value) !== undefined)) throw asDeployed('proxy');
  const value = (name: string): unknown => {
    const untouched = typed[name] === undefined || typed[name] === STORED;
    if (!untouched) return typed[name];
    if (text(credentials[name]) === '' || text(draft.url) === text(properties.url)) return credentials[name];
    throw badConfig('The address of the proxy was changed: type its password again. A stored one is only sent where it was deployed for.');
  };
  return proxyFrom({ url: draft.url, noproxy: draft.noproxy, username: value('username'), password: value('password') });
}

function asDeployed(what: string): Error {
  return badConfig(
    sentence`The ${ours(what)} configuration takes something from files or from environment variables, and was changed. Such are only read as they are deployed: deploy first.`,
  );
}
