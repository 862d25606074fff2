import type { NodeAPI } from 'node-red';
import { isObject, type JsonObject } from '../../src/model/json';
import { trusted, safeMessage } from '../../src/model/safe-message';
import type { ProxySettings, TlsSettings } from '../../src/model/settings';
import { toProxySettings, type TlsNode } from '../appliance/appliance-node';
import { badConfig } from '../common/node-properties';
import { parseVariableReference } from '../common/rules';

/** The editor shows this placeholder for a stored secret. */
export const STORED_SECRET_PLACEHOLDER = '__PWRD__';

/** The TLS and proxy settings of an appliance that differ from the deployed ones. */
export interface DraftConfigNodes {
  readonly tls?: TlsSettings;
  readonly proxy?: ProxySettings;
}

/**
 * Reads the TLS and proxy settings that the dialog sends. Files and variables must be deployed, so that a dialog cannot read this
 * machine. A stored proxy password goes only to its deployed address.
 */
export function readDraftConfigNodes(red: NodeAPI, nodes: unknown, properties: JsonObject): DraftConfigNodes {
  const [tls, proxy] = [findDraftNode('tls', nodes, properties), findDraftNode('proxy', nodes, properties)];
  return { ...(tls && { tls: readDraftTls(red, tls) }), ...(proxy && { proxy: readDraftProxy(red, proxy) }) };
}

/** Whether the appliance uses a proxy whose address is not deployed. */
export function hasUndeployedProxy(red: NodeAPI, nodes: unknown, properties: JsonObject): boolean {
  const proxy = findDraftNode('proxy', nodes, properties);
  return proxy !== undefined && trimmedText(proxy.url) !== trimmedText(readFlowNode(red, proxy.id).properties.url);
}

/** Returns the node if the appliance refers to it. */
function findDraftNode(name: 'tls' | 'proxy', nodes: unknown, properties: JsonObject): JsonObject | undefined {
  const node = isObject(nodes) ? nodes[name] : undefined;
  return isObject(node) && node.id === properties[name] ? node : undefined;
}

/** Returns a node of the flow file with its stored credentials. Variables are not resolved. */
export function readFlowNode(red: NodeAPI, id: unknown): { properties: JsonObject; credentials: JsonObject } {
  let properties: JsonObject = {};
  red.nodes.eachNode((node) => {
    if (node.id === id) properties = { ...node };
  });
  return { properties, credentials: (red.nodes.getCredentials(String(id)) as JsonObject | undefined) ?? {} };
}

const FILE_PROPERTIES = ['cert', 'key', 'ca', 'p12', 'certEnv', 'keyEnv', 'caEnv'];
const EXTERNAL_PROPERTIES = ['certType', ...FILE_PROPERTIES];
const INLINE_CONTENT_OPTIONS = { certdata: 'cert', keydata: 'key', cadata: 'ca', p12data: 'pfx', passphrase: 'passphrase' } as const;

const trimmedText = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

function readDraftTls(red: NodeAPI, draft: JsonObject): TlsSettings {
  const { properties, credentials } = readFlowNode(red, draft.id);
  const typedCredentials = isObject(draft.credentials) ? draft.credentials : {};
  const contents: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(INLINE_CONTENT_OPTIONS)) {
    const value = trimmedText(
      typedCredentials[name] === undefined || typedCredentials[name] === STORED_SECRET_PLACEHOLDER
        ? credentials[name]
        : typedCredentials[name],
    );
    if (parseVariableReference(value) !== undefined) throw createNotDeployedError('TLS');
    if (value !== '') contents[option] = name === 'p12data' ? Buffer.from(value, 'base64') : value;
  }
  const { servername, alpnprotocol } = draft;
  if ([servername, alpnprotocol].some((value) => parseVariableReference(value) !== undefined)) throw createNotDeployedError('TLS');
  const options = {
    ...(trimmedText(servername) !== '' && { servername: trimmedText(servername) }),
    ...(trimmedText(alpnprotocol) !== '' && { ALPNProtocols: [trimmedText(alpnprotocol)] }),
    rejectUnauthorized: draft.verifyservercert !== false,
  };
  if (!FILE_PROPERTIES.some((name) => trimmedText(draft[name]) !== '')) return { ...contents, ...options };
  const node = red.nodes.getNode(String(draft.id)) as Partial<TlsNode> | null | undefined;
  const isUnchanged = EXTERNAL_PROPERTIES.every((name) => trimmedText(draft[name]) === trimmedText(properties[name]));
  if (!isUnchanged || !node?.addTLSOptions || node.valid === false) throw createNotDeployedError('TLS');
  return { ...node.addTLSOptions({}), ...options };
}

function readDraftProxy(red: NodeAPI, draft: JsonObject): ProxySettings {
  const { properties, credentials } = readFlowNode(red, draft.id);
  const typedCredentials = isObject(draft.credentials) ? draft.credentials : {};
  if ([draft.url, ...Object.values(typedCredentials)].some((value) => parseVariableReference(value) !== undefined))
    throw createNotDeployedError('proxy');
  const value = (name: string): unknown => {
    const isUntouched = typedCredentials[name] === undefined || typedCredentials[name] === STORED_SECRET_PLACEHOLDER;
    if (!isUntouched) return typedCredentials[name];
    if (trimmedText(credentials[name]) === '' || trimmedText(draft.url) === trimmedText(properties.url)) return credentials[name];
    throw badConfig('The URL of the proxy was changed. Type its password again: a stored password is sent only to the deployed URL.');
  };
  return toProxySettings({ url: draft.url, noproxy: draft.noproxy, username: value('username'), password: value('password') });
}

function createNotDeployedError(configurationName: string): Error {
  return badConfig(
    safeMessage`The ${trusted(configurationName)} configuration uses files or environment variables and was changed. These are read only as deployed. Deploy first.`,
  );
}
