import { createHash } from 'node:crypto';
import type { NodeAPI } from 'node-red';
import { asGatewayError } from '../src/model/error';
import { Gateway } from '../src/gateway';
import { isObject, type JsonObject } from '../src/model/json';
import { Redactor } from '../src/model/redaction';
import type { Settings } from '../src/model/settings';
import { applianceById, settingsOf } from './appliance';
import { fromDialog, secretTexts } from './draft';
import { guesses } from './guesses';
import { inventoryById } from './inventory';
import { badConfig } from './properties';

/** Somebody waits at the dialog: less patience than a flow has. */
const EXCHANGE_SECONDS = 15;
/** A dialog asks again and again: so long the connection and the key are kept for it. */
const KEPT_MS = 60_000;
const MOST_KEPT = 4;

/** An appliance as it stands in a dialog, and what no answer of its may show. */
interface Draft {
  readonly gateway: Gateway;
  readonly redactor: Redactor;
}
interface Kept extends Draft {
  readonly timer: NodeJS.Timeout;
}

const kept = new Map<string, Kept>();

/** Every answer of a route that asks an appliance: what was found, or in words why there is nothing. */
export type Answer = { ok: true; [name: string]: unknown } | { ok: false; code: string; reason?: string | undefined; message: string };

/**
 * Asks the appliance that the dialog means: the deployed one, or one as it stands in the editor. Never rejects, and takes every secret
 * of the draft out of what it answers.
 */
export async function askAppliance(
  red: NodeAPI,
  body: Readonly<JsonObject>,
  ask: (gateway: Gateway) => Promise<Record<string, unknown>>,
): Promise<Answer> {
  let redactor = new Redactor();
  try {
    const asked = await applianceOf(red, body.appliance);
    redactor = asked.redactor;
    return { ok: true, ...(await ask(asked.gateway)) };
  } catch (thrown) {
    const error = asGatewayError(thrown);
    const { code, details } = error;
    // Some releases answer wrong credentials with 403, as they answer much else.
    if (code === 'LOGIN_REJECTED' || (code === 'FORBIDDEN' && details.login === true)) guesses.count();
    return { ok: false, code, ...(details.system !== undefined && { reason: details.system }), message: redactor.message(error) };
  }
}

/** A name alone means the node as it is deployed; with an address it is a draft. */
async function applianceOf(red: NodeAPI, appliance: unknown): Promise<{ gateway: Gateway; redactor: Redactor }> {
  if (!isObject(appliance)) throw badConfig('Choose an appliance first.');
  if (typeof appliance.inventory === 'string') return { gateway: await firstOf(appliance), redactor: new Redactor() };
  if (appliance.url !== undefined) return draftOf(red, appliance);
  const deployed = typeof appliance.id === 'string' ? applianceById(appliance.id) : undefined;
  if (!deployed) throw badConfig('The appliance is not deployed, or disabled. Deploy it first.');
  return { gateway: deployed.gateway(), redactor: new Redactor() };
}

/** Of an inventory the first appliance that is selected stands for all of them. */
async function firstOf({ inventory, select }: JsonObject): Promise<Gateway> {
  const deployed = inventoryById(String(inventory));
  if (!deployed) throw badConfig('The inventory is not deployed, or disabled. Deploy it first.');
  const [first] = await deployed.select(select);
  if (!first) throw badConfig('No appliance of the inventory fits the selection.');
  return first.gateway();
}

function draftOf(red: NodeAPI, appliance: JsonObject): Draft {
  const { properties, credentials, nodes } = fromDialog(red, appliance);
  const settings = settingsOf(red, properties, credentials, nodes);
  const there = kept.get(nameOf(appliance.id, settings));
  if (there) {
    there.timer.refresh();
    return there;
  }
  guesses.check();
  const fresh = { gateway: new Gateway(impatient(settings)), redactor: new Redactor().add(...secretTexts(credentials)) };
  keepDraft(appliance.id, settings, fresh);
  return fresh;
}

export function impatient(settings: Settings): Settings {
  return { ...settings, timeout: Math.min(settings.timeout ?? EXCHANGE_SECONDS, EXCHANGE_SECONDS) };
}

/** For whatever the dialog asks with these settings, in place of what was kept for them. It is closed here, when it is no longer kept. */
export function keepDraft(id: unknown, settings: Settings, draft: Draft, ms = KEPT_MS): void {
  const name = nameOf(id, settings);
  forget(name);
  const [oldest] = kept.keys();
  if (kept.size >= MOST_KEPT && oldest !== undefined) forget(oldest);
  kept.set(name, { ...draft, timer: setTimeout(() => forget(name), ms).unref() });
}

/** Of what is secret only a digest is kept as a name. */
function nameOf(id: unknown, settings: Settings): string {
  return createHash('sha256')
    .update(JSON.stringify([id, settings]))
    .digest('hex');
}

function forget(name: string): void {
  const there = kept.get(name);
  if (!there) return;
  clearTimeout(there.timer);
  kept.delete(name);
  there.gateway.close();
}
