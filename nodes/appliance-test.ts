import type { NodeAPI } from 'node-red';
import { asGatewayError, GatewayError } from '../src/model/error';
import { Gateway } from '../src/gateway';
import { isObject, type JsonObject } from '../src/model/json';
import { Redactor } from '../src/model/redaction';
import { adminRoute } from './admin';
import { settingsOf } from './appliance';
import { fromDialog, secretTexts } from './draft';
import { impatient, keepDraft } from './drafts';
import { guesses } from './guesses';
import type { Settings } from '../src/model/settings';
import { untrustedChain, type Shown } from './trust';

/** What the button "Test" is told. `reason` is what the operating system or TLS called the fault. */
export type TestAnswer =
  | { ok: true; system: unknown; ms: number }
  | { ok: false; code: string; reason?: string | undefined; message: string; shown?: Shown | undefined };

const LONGEST_MS = 30_000;
/** The dialog asks what else it wants to know as soon as it has the answer. */
const NEXT_MS = 2000;

/** `POST /gateway-appliance/test`: tries the settings of the open dialog, deployed or not. */
export function registerTest(red: NodeAPI): void {
  adminRoute(red, '/gateway-appliance/test', (body, signal) => testAppliance(red, body, signal));
}

/** Never rejects, and takes every secret out of what it answers. */
export async function testAppliance(red: NodeAPI, body: Readonly<JsonObject>, gone: AbortSignal): Promise<TestAnswer> {
  const redactor = new Redactor();
  let gateway: Gateway | undefined;
  let settings: Settings | undefined;
  let proven = false;
  try {
    const { properties, credentials, nodes } = fromDialog(red, body);
    redactor.add(...secretTexts(credentials));
    settings = settingsOf(red, properties, credentials, nodes);
    guesses.check();
    // A key that is there already would prove nothing of what stands in the dialog.
    gateway = new Gateway(impatient(settings), { ownLogin: true });
    const answer = await ask(gateway, gone);
    // What the dialog asks next needs no login, and no one-time code, of its own.
    keepDraft(body.id, settings, { gateway, redactor }, NEXT_MS);
    proven = true;
    return answer;
  } catch (thrown) {
    const error = asGatewayError(thrown);
    const { code, details } = error;
    // Some releases answer wrong credentials with 403.
    if (code === 'LOGIN_REJECTED' || code === 'FORBIDDEN') guesses.count();
    const shown =
      code === 'TLS' && gateway && settings ? await untrustedChain(gateway, settings.url, settings.tls?.servername, gone) : undefined;
    return {
      ok: false,
      code,
      ...(details.system !== undefined && { reason: details.system }),
      message: redactor.message(error),
      ...(shown && { shown }),
    };
  } finally {
    if (!proven) gateway?.close();
  }
}

async function ask(gateway: Gateway, gone: AbortSignal): Promise<TestAnswer> {
  const late = AbortSignal.timeout(LONGEST_MS);
  try {
    const { data, envelope } = await gateway.run('system.info', {}, AbortSignal.any([late, gone]));
    return { ok: true, system: isObject(data) ? (data['system-information'] ?? data) : data, ms: envelope.ms };
  } catch (thrown) {
    if (late.aborted) throw new GatewayError('TIMEOUT', `The appliance did not answer within ${LONGEST_MS / 1000} s.`);
    throw thrown;
  }
}
