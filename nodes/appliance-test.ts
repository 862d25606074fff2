import type { NodeAPI } from 'node-red';
import { asGatewayError, GatewayError } from '../src/model/error';
import { Gateway } from '../src/gateway';
import { Redactor } from '../src/model/redaction';
import { applianceById, settingsOf, type Appliance, type Credentials } from './appliance';
import { badConfig, unsetVariable } from './properties';
import { isObject } from '../src/model/json';

/** What the button "Test" is told. `reason` is what the operating system or TLS called the fault. */
export type TestAnswer =
  { ok: true; system: unknown; ms: number } | { ok: false; code: string; reason?: string | undefined; message: string };

/** What the editor shows in place of a stored secret. */
const STORED = '__PWRD__';
const SECRETS = ['password', 'secondPassword', 'totpSecret', 'apiKey'] as const;
/** Somebody waits at the dialog: less patience than a flow has. */
const EXCHANGE_SECONDS = 15;
const LONGEST_MS = 30_000;

/** `POST /gateway-appliance/test`: tries the settings of the open dialog, deployed or not. Always 200 but for a body that is none. */
export function registerTest(red: NodeAPI): void {
  red.httpAdmin.post('/gateway-appliance/test', red.auth.needsPermission('gateway-appliance.write'), (request, response) => {
    const body: unknown = request.body;
    if (!isObject(body)) {
      response.status(400).json({ ok: false, code: 'BAD_INPUT', message: 'The body has to be an object with the settings.' });
      return;
    }
    void testAppliance(red, body).then((answer) => response.json(answer));
  });
}

/** Never rejects, and takes every secret out of what it answers. */
export async function testAppliance(red: NodeAPI, body: Readonly<Record<string, unknown>>): Promise<TestAnswer> {
  const redactor = new Redactor();
  try {
    const node = typeof body.id === 'string' ? applianceById(body.id) : undefined;
    const properties = withVariables(red, body, node) as Record<string, unknown>;
    const credentials = credentialsFor(properties, node);
    redactor.add(...SECRETS.map((name) => textOr(credentials[name])));
    const settings = settingsOf(red, properties, credentials);
    return await ask(new Gateway({ ...settings, timeout: Math.min(settings.timeout ?? EXCHANGE_SECONDS, EXCHANGE_SECONDS) }));
  } catch (thrown) {
    const { code, message, details } = asGatewayError(thrown);
    return { ok: false, code, ...(details.system !== undefined && { reason: details.system }), message: redactor.text(message) };
  }
}

async function ask(gateway: Gateway): Promise<TestAnswer> {
  const signal = AbortSignal.timeout(LONGEST_MS);
  try {
    const { data, envelope } = await gateway.run('system.info', {}, signal);
    return { ok: true, system: isObject(data) ? (data['system-information'] ?? data) : data, ms: envelope.ms };
  } catch (thrown) {
    if (signal.aborted) throw new GatewayError('TIMEOUT', `The appliance did not answer within ${LONGEST_MS / 1000} s.`);
    throw thrown;
  } finally {
    gateway.close();
  }
}

/**
 * The credentials of the dialog, unchanged secrets filled in from the deployed node, but only for the origin that they were
 * deployed for: who may open a dialog must not be able to have a stored password sent to a host of his own.
 */
function credentialsFor(properties: Record<string, unknown>, node: Appliance | undefined): Credentials {
  const typed = isObject(properties.credentials) ? properties.credentials : {};
  const credentials: Record<string, unknown> = {
    username: node?.credentials.username,
    secondUsername: node?.credentials.secondUsername,
    ...typed,
  };
  const unchanged = SECRETS.filter((name) => typed[name] === undefined || typed[name] === null || typed[name] === STORED);
  const same =
    node !== undefined && originOf(node.properties.url) !== undefined && originOf(node.properties.url) === originOf(properties.url);
  for (const name of unchanged) credentials[name] = same ? node.credentials[name] : undefined;
  if (!same && unchanged.some((name) => typed[name] === STORED && isUsed(name, properties))) {
    throw badConfig(
      'To test another address than the deployed one, type the password again: a stored one is only sent where it was deployed for.',
    );
  }
  return credentials;
}

function isUsed(secret: (typeof SECRETS)[number], { login, secondFactor }: Record<string, unknown>): boolean {
  if (secret === 'apiKey' || login === 'key') return secret === 'apiKey' && login === 'key';
  if (secret === 'password') return true;
  return login !== 'legacy' && secondFactor === (secret === 'totpSecret' ? 'totp' : 'password');
}

function originOf(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : undefined;
}

/** `${NAME}` as the whole value, as Node-RED replaces it at deploy; of a variable that is not set the text stays. */
function withVariables(red: NodeAPI, value: unknown, node: Appliance | undefined): unknown {
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withVariables(red, inner, node)]));
  const variable = unsetVariable(value);
  if (variable === undefined) return value;
  const flowNode = node && red.nodes.getNode(node.id);
  const found: unknown = red.util.getSetting(flowNode ?? (null as never), variable);
  return found ?? value;
}

function textOr(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
