import type { NodeAPI } from 'node-red';
import { isObject, type JsonObject } from '../src/model/json';
import { APPLIANCE_CREDENTIALS, applianceById, type Credentials } from './appliance';
import { draftNodes, isOtherProxy, STORED, textsOf, type DraftNodes } from './draft-nodes';
import { neededCredentials } from '../src/model/rules';
import { badConfig } from './properties';
import { variableOf } from './rules';
import { ours, sentence } from '../src/model/sentence';

const SECRETS = ['password', 'secondPassword', 'totpSecret', 'apiKey'] as const;

/** Those of them that are secret, and there. */
export function secretNames(credentials: Credentials): (typeof SECRETS)[number][] {
  return SECRETS.filter((name) => typeof credentials[name] === 'string');
}

/** What no answer may show. */
export function secretTexts(credentials: Credentials): string[] {
  return secretNames(credentials).map((name) => String(credentials[name]));
}

/**
 * What the dialog holds, filled up from the deployed node: secrets that were not touched, and values of variables. Both only for the
 * address that they were deployed for, and through no proxy that is not deployed, which might answer in its place: who may open a dialog
 * must not be able to have a password, or a variable of the environment, sent to a host of his own. A variable's value is the one that Node-RED gave the deployed node; none is looked up here.
 */
export function fromDialog(
  red: NodeAPI,
  body: Readonly<JsonObject>,
): { properties: JsonObject; credentials: Credentials; nodes: DraftNodes } {
  const node = typeof body.id === 'string' ? applianceById(body.id) : undefined;
  const texts = node ? textsOf(red, node.id) : { properties: {}, credentials: {} };
  const typed = isObject(body.credentials) ? body.credentials : {};
  const url = filled('url', body.url, texts.properties, node?.properties);
  const there = node !== undefined && originOf(url) !== undefined && originOf(url) === originOf(node.properties.url);
  const same = there && !isOtherProxy(red, body.nodes, body);
  const properties: Record<string, unknown> = { url };
  for (const [name, value] of Object.entries(body)) {
    if (!['url', 'credentials', 'nodes'].includes(name))
      properties[name] = filled(name, value, texts.properties, same ? node.properties : undefined);
  }
  const credentials: Record<string, unknown> = {};
  for (const name of Object.keys(APPLIANCE_CREDENTIALS)) {
    const value = typed[name];
    const untouched = value === undefined || value === null || value === STORED;
    if (untouched) credentials[name] = same ? node.credentials[name as keyof Credentials] : undefined;
    else credentials[name] = filled(name, value, texts.credentials, same ? node.credentials : undefined);
    if (!same && value === STORED && neededCredentials(properties.login, properties.secondFactor).includes(name)) {
      throw badConfig(
        'To test another address or proxy than the deployed one, type the password again: a stored one is only sent where it was deployed for.',
      );
    }
  }
  return { properties, credentials, nodes: draftNodes(red, body.nodes, properties) };
}

/** A value, and of a variable what the deployed node was given for that very text. Errors: `BAD_CONFIG`; a variable is never named. */
export function filled(name: string, value: unknown, texts: JsonObject, deployed: object | undefined): unknown {
  if (variableOf(value) === undefined) return value;
  if (deployed && texts[name] === value) return (deployed as JsonObject)[name];
  throw badConfig(
    sentence`${ours(name)} is to come from an environment variable. A test reads one only as it is deployed, and for the deployed address. Deploy first, or enter the value for the test.`,
  );
}

export function originOf(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : undefined;
}
