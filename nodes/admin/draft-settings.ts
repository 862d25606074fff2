import type { NodeAPI } from 'node-red';
import { isObject, type JsonObject } from '../../src/model/json';
import { APPLIANCE_CREDENTIALS, getApplianceById, type ApplianceCredentials } from '../appliance/appliance-node';
import {
  readDraftConfigNodes,
  hasUndeployedProxy,
  STORED_SECRET_PLACEHOLDER,
  readFlowNode,
  type DraftConfigNodes,
} from './draft-config-nodes';
import { listRequiredCredentials } from '../../src/model/rules';
import { badConfig } from '../common/node-properties';
import { parseVariableReference } from '../common/rules';
import { trusted, safeMessage } from '../../src/model/safe-message';

const SECRET_NAMES = ['password', 'secondPassword', 'totpSecret', 'apiKey'] as const;

/** Returns the names of the secrets that have a value. */
export function listSecretNames(credentials: ApplianceCredentials): (typeof SECRET_NAMES)[number][] {
  return SECRET_NAMES.filter((name) => typeof credentials[name] === 'string');
}

/** Returns the values that no response may contain. */
export function listSecretValues(credentials: ApplianceCredentials): string[] {
  return listSecretNames(credentials).map((name) => String(credentials[name]));
}

interface DraftSettings {
  readonly properties: JsonObject;
  readonly credentials: ApplianceCredentials;
  readonly nodes: DraftConfigNodes;
  /** Whether the deployed node has the same address and proxy as the draft. */
  readonly isDeployedAddress: boolean;
}

/**
 * Reads the settings of the dialog, with stored secrets and variables of the deployed node. Both are used only for the deployed address
 * and proxy. Otherwise somebody with access to a dialog could send a password to his own host. Variables are never looked up here; the
 * deployed node already has their values.
 */
export function readDraftSettings(red: NodeAPI, body: Readonly<JsonObject>): DraftSettings {
  const node = typeof body.id === 'string' ? getApplianceById(body.id) : undefined;
  const flowNode = node ? readFlowNode(red, node.id) : { properties: {}, credentials: {} };
  const typedCredentials = isObject(body.credentials) ? body.credentials : {};
  const url = resolveDraftValue('url', body.url, flowNode.properties, node?.properties);
  const isSameOrigin =
    node !== undefined && parseUrlOrigin(url) !== undefined && parseUrlOrigin(url) === parseUrlOrigin(node.properties.url);
  const isSameDestination = isSameOrigin && !hasUndeployedProxy(red, body.nodes, body);
  const properties: Record<string, unknown> = { url };
  for (const [name, value] of Object.entries(body)) {
    if (!['url', 'credentials', 'nodes'].includes(name))
      properties[name] = resolveDraftValue(name, value, flowNode.properties, isSameDestination ? node.properties : undefined);
  }
  // An editor that does not know the property must not reach the appliance behind a rehearsal.
  if (body.rehearsal === undefined && node?.isRehearsal === true) properties.rehearsal = node.properties.rehearsal;
  const credentials: Record<string, unknown> = {};
  for (const name of Object.keys(APPLIANCE_CREDENTIALS)) {
    const value = typedCredentials[name];
    const isUntouched = value === undefined || value === null || value === STORED_SECRET_PLACEHOLDER;
    if (isUntouched) credentials[name] = isSameDestination ? node.credentials[name as keyof ApplianceCredentials] : undefined;
    else credentials[name] = resolveDraftValue(name, value, flowNode.credentials, isSameDestination ? node.credentials : undefined);
    if (
      !isSameDestination &&
      value === STORED_SECRET_PLACEHOLDER &&
      listRequiredCredentials(properties.login, properties.secondFactor).includes(name)
    ) {
      throw badConfig(
        'The address or proxy differs from the deployed one. Type the password again: a stored password is sent only where it was deployed.',
      );
    }
  }
  return { properties, credentials, nodes: readDraftConfigNodes(red, body.nodes, properties), isDeployedAddress: isSameDestination };
}

/**
 * Returns a value. A variable gets the value that the deployed node has for the same text. Errors: `BAD_CONFIG`, which never names the
 * variable.
 */
export function resolveDraftValue(name: string, value: unknown, flowValues: JsonObject, deployedValues: object | undefined): unknown {
  if (parseVariableReference(value) === undefined) return value;
  if (deployedValues && flowValues[name] === value) return (deployedValues as JsonObject)[name];
  throw badConfig(
    safeMessage`${trusted(name)} uses an environment variable. A test reads variables only as deployed, for the deployed address. Deploy first, or enter the value for the test.`,
  );
}

export function parseUrlOrigin(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : undefined;
}
