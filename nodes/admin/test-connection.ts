import type { NodeAPI } from 'node-red';
import { asGatewayError, GatewayError } from '../../src/model/error';
import { Gateway } from '../../src/gateway/gateway';
import { isObject, type JsonObject } from '../../src/model/json';
import { PauseFreeCoordination } from '../../src/login/pause-free-coordination';
import { processCoordination } from '../../src/model/process-coordination';
import { Redactor } from '../../src/model/redaction';
import { unwrapSystemInformation } from '../../src/run/identity';
import { createPostRoute } from './admin-route';
import { readApplianceSettings } from '../appliance/appliance-node';
import { readDraftSettings, listSecretValues } from './draft-settings';
import { findDeployedRehearsalGateway, withDialogTimeouts, cacheDraftGateway } from './draft-gateways';
import { loginAttemptLimit } from './login-attempt-limit';
import type { Settings } from '../../src/model/settings';
import { inspectUntrustedCertificateChain, type UntrustedCertificateChain } from './untrusted-chain';

/** The response of the connection test. `reason` is the code of the operating system or of TLS. */
type ConnectionTestResult =
  | { ok: true; system: unknown; ms: number }
  | { ok: false; code: string; reason?: string | undefined; message: string; shown?: UntrustedCertificateChain | undefined };

const MAX_TEST_MS = 30_000;
/** How long the gateway of a successful test is kept, because the dialog reads more at once. */
const FOLLOW_UP_TTL_MS = 2000;

/** `POST /gateway-appliance/test` tries the settings of the open dialog, deployed or not. */
export const testRoute = createPostRoute('/gateway-appliance/test', testConnection);

/** Tests a connection. Never rejects, and masks secrets. */
export async function testConnection(red: NodeAPI, body: Readonly<JsonObject>, clientSignal: AbortSignal): Promise<ConnectionTestResult> {
  const redactor = new Redactor();
  let gateway: Gateway | undefined;
  let settings: Settings | undefined;
  let hasSucceeded = false;
  try {
    const { properties, credentials, nodes } = readDraftSettings(red, body);
    redactor.add(...listSecretValues(credentials));
    settings = readApplianceSettings(red, properties, credentials, nodes);
    const rehearsing = findDeployedRehearsalGateway(body, settings);
    if (rehearsing) {
      hasSucceeded = true;
      return await readSystemInfo(rehearsing, clientSignal);
    }
    loginAttemptLimit.assertAllowed();
    // An existing API key would not prove that the typed credentials work. A pause must not hide that its cause was removed.
    gateway = new Gateway(withDialogTimeouts(settings), {
      isolatedLogin: true,
      coordination: new PauseFreeCoordination(processCoordination),
    });
    const result = await readSystemInfo(gateway, clientSignal);
    // The next request of the dialog then needs no second login or one-time code.
    cacheDraftGateway(body.id, settings, { gateway, redactor }, FOLLOW_UP_TTL_MS);
    hasSucceeded = true;
    return result;
  } catch (thrown) {
    const error = asGatewayError(thrown);
    const { code, details } = error;
    // Some releases answer wrong credentials with 403.
    if (code === 'LOGIN_REJECTED' || code === 'FORBIDDEN') loginAttemptLimit.recordRefusals();
    const chain =
      code === 'TLS' && gateway && settings
        ? await inspectUntrustedCertificateChain(gateway, settings.url, settings.tls?.servername, clientSignal)
        : undefined;
    return {
      ok: false,
      code,
      ...(details.system !== undefined && { reason: details.system }),
      message: redactor.message(error),
      ...(chain && { shown: chain }),
    };
  } finally {
    if (!hasSucceeded) gateway?.close();
  }
}

async function readSystemInfo(gateway: Gateway, clientSignal: AbortSignal): Promise<ConnectionTestResult> {
  const timeout = AbortSignal.timeout(MAX_TEST_MS);
  try {
    const { data, envelope } = await gateway.run('system.info', {}, AbortSignal.any([timeout, clientSignal]));
    return { ok: true, system: isObject(data) ? unwrapSystemInformation(data) : data, ms: envelope.ms };
  } catch (thrown) {
    if (timeout.aborted) throw new GatewayError('TIMEOUT', `The appliance did not answer within ${MAX_TEST_MS / 1000} s.`);
    throw thrown;
  }
}
