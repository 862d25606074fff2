import type { NodeAPI } from 'node-red';
import { isObject, type JsonObject } from '../../src/model/json';
import { APPLIANCE_CREDENTIALS, applianceById, type ApplianceCredentials } from '../appliance/appliance-node';
import {
  readDraftConfigNodes,
  hasUndeployedProxy,
  STORED_SECRET_PLACEHOLDER,
  readFlowNode,
  type DraftConfigNodes,
} from './draft-config-nodes';
import { requiredCredentials } from '../../src/model/rules';
import { badConfig } from '../common/node-properties';
import { parseEnvReference } from '../common/rules';
import { trusted, safeMessage } from '../../src/model/safe-message';

const SECRET_NAMES = ['password', 'secondPassword', 'totpSecret', 'apiKey'] as const;

/** Those of them that are secret, and there. */
export function listSecretNames(credentials: ApplianceCredentials): (typeof SECRET_NAMES)[number][] {
  return SECRET_NAMES.filter((name) => typeof credentials[name] === 'string');
}

/** What no answer may show. */
export function listSecretValues(credentials: ApplianceCredentials): string[] {
  return listSecretNames(credentials).map((name) => String(credentials[name]));
}

/**
 * What the dialog holds, filled up from the deployed node: secrets that were not touched, and values of variables. Both only for the
 * address that they were deployed for, and through no proxy that is not deployed, which might answer in its place: who may open a dialog
 * must not be able to have a password, or a variable of the environment, sent to a host of his own. A variable's value is the one that Node-RED gave the deployed node; none is looked up here.
 */
export function readDraftSettings(
  red: NodeAPI,
  body: Readonly<JsonObject>,
): { properties: JsonObject; credentials: ApplianceCredentials; nodes: DraftConfigNodes } {
  const node = typeof body.id === 'string' ? applianceById(body.id) : undefined;
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
  const credentials: Record<string, unknown> = {};
  for (const name of Object.keys(APPLIANCE_CREDENTIALS)) {
    const value = typedCredentials[name];
    const isUntouched = value === undefined || value === null || value === STORED_SECRET_PLACEHOLDER;
    if (isUntouched) credentials[name] = isSameDestination ? node.credentials[name as keyof ApplianceCredentials] : undefined;
    else credentials[name] = resolveDraftValue(name, value, flowNode.credentials, isSameDestination ? node.credentials : undefined);
    if (
      !isSameDestination &&
      value === STORED_SECRET_PLACEHOLDER &&
      requiredCredentials(properties.login, properties.secondFactor).includes(name)
    ) {
      throw badConfig(
        'To test another address or proxy than the deployed one, type the password again: a stored one is only sent where it was deployed for.',
      );
    }
  }
  return { properties, credentials, nodes: readDraftConfigNodes(red, body.nodes, properties) };
}

/** A value, and of a variable what the deployed node was given for that very text. Errors: `BAD_CONFIG`; a variable is never named. */
export function resolveDraftValue(name: string, value: unknown, flowValues: JsonObject, deployedValues: object | undefined): unknown {
  if (parseEnvReference(value) === undefined) return value;
  if (deployedValues && flowValues[name] === value) return (deployedValues as JsonObject)[name];
  throw badConfig(
    safeMessage`${trusted(name)} is to come from an environment variable. A test reads one only as it is deployed, and for the deployed address. Deploy first, or enter the value for the test.`,
  );
}

export function parseUrlOrigin(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : undefined;
}
