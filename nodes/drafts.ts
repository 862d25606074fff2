import { createHash } from 'node:crypto';
import type { NodeAPI } from 'node-red';
import { asGatewayError } from '../src/model/error';
import { Gateway } from '../src/gateway';
import { isObject, type JsonObject } from '../src/model/json';
import { Redactor } from '../src/model/redaction';
import { applianceById, settingsOf } from './appliance';
import { guesses } from './appliance-test';
import { fromDialog, secretTexts } from './draft';
import { inventoryById } from './inventory';
import { badConfig } from './properties';

/** Somebody waits at the dialog: less patience than a flow has. */
const EXCHANGE_SECONDS = 15;
/** A dialog asks again and again: so long the connection and the key are kept for it. */
const KEPT_MS = 60_000;
const MOST_KEPT = 4;

interface Kept {
  readonly gateway: Gateway;
  readonly redactor: Redactor;
  timer: NodeJS.Timeout;
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
    if (code === 'LOGIN_REJECTED') guesses.count();
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

function draftOf(red: NodeAPI, appliance: JsonObject): Kept {
  const { properties, credentials, nodes } = fromDialog(red, appliance);
  const settings = settingsOf(red, properties, credentials, nodes);
  // Of what is secret only a digest is kept as a name.
  const name = createHash('sha256')
    .update(JSON.stringify([appliance.id, settings]))
    .digest('hex');
  const there = kept.get(name);
  if (there) {
    there.timer.refresh();
    return there;
  }
  guesses.check();
  const timeout = Math.min(settings.timeout ?? EXCHANGE_SECONDS, EXCHANGE_SECONDS);
  const timer = setTimeout(() => forget(name), KEPT_MS).unref();
  const fresh = { gateway: new Gateway({ ...settings, timeout }), redactor: new Redactor().add(...secretTexts(credentials)), timer };
  const [oldest] = kept.keys();
  if (kept.size >= MOST_KEPT && oldest !== undefined) forget(oldest);
  kept.set(name, fresh);
  return fresh;
}

function forget(name: string): void {
  const there = kept.get(name);
  if (!there) return;
  clearTimeout(there.timer);
  kept.delete(name);
  there.gateway.close();
}
