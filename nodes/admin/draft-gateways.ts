import { createHash } from 'node:crypto';
import type { NodeAPI } from 'node-red';
import { asGatewayError } from '../../src/model/error';
import { Gateway } from '../../src/gateway';
import { isObject, type JsonObject } from '../../src/model/json';
import { Redactor } from '../../src/model/redaction';
import type { Settings } from '../../src/model/settings';
import { applianceById, readApplianceSettings } from '../appliance/appliance-node';
import { readDraftSettings, listSecretValues } from './draft-settings';
import { loginAttempts } from './login-attempt-limit';
import { inventoryById } from '../inventory/inventory-node';
import { badConfig } from '../common/node-properties';

/** Somebody waits at the dialog: less patience than a flow has. */
const DIALOG_TIMEOUT_SECONDS = 15;
/** A dialog asks again and again: so long the connection and the key are kept for it. */
const DRAFT_TTL_MS = 60_000;
const MAX_DRAFTS = 4;

/** An appliance as it stands in a dialog, and what no answer of its may show. */
interface DraftGateway {
  readonly gateway: Gateway;
  readonly redactor: Redactor;
}
interface CachedDraftGateway extends DraftGateway {
  readonly timer: NodeJS.Timeout;
}

const cachedDrafts = new Map<string, CachedDraftGateway>();

/** Every answer of a route that asks an appliance: what was found, or in words why there is nothing. */
export type RouteResult = { ok: true; [name: string]: unknown } | { ok: false; code: string; reason?: string | undefined; message: string };

/**
 * Asks the appliance that the dialog means: the deployed one, or one as it stands in the editor. Never rejects, and takes every secret
 * of the draft out of what it answers.
 */
export async function withDialogGateway(
  red: NodeAPI,
  body: Readonly<JsonObject>,
  query: (gateway: Gateway) => Promise<Record<string, unknown>>,
): Promise<RouteResult> {
  let redactor = new Redactor();
  try {
    const target = await resolveGateway(red, body.appliance);
    redactor = target.redactor;
    return { ok: true, ...(await query(target.gateway)) };
  } catch (thrown) {
    const error = asGatewayError(thrown);
    const { code, details } = error;
    // Some releases answer wrong credentials with 403, as they answer much else.
    if (code === 'LOGIN_REJECTED' || (code === 'FORBIDDEN' && details.login === true)) loginAttempts.recordRefusals();
    return { ok: false, code, ...(details.system !== undefined && { reason: details.system }), message: redactor.message(error) };
  }
}

/** A name alone means the node as it is deployed; with an address it is a draft. */
async function resolveGateway(red: NodeAPI, appliance: unknown): Promise<{ gateway: Gateway; redactor: Redactor }> {
  if (!isObject(appliance)) throw badConfig('Choose an appliance first.');
  if (typeof appliance.inventory === 'string') return { gateway: await selectFirstGateway(appliance), redactor: new Redactor() };
  if (appliance.url !== undefined) return getDraftGateway(red, appliance);
  const deployed = typeof appliance.id === 'string' ? applianceById(appliance.id) : undefined;
  if (!deployed) throw badConfig('The appliance is not deployed, or disabled. Deploy it first.');
  return { gateway: deployed.gateway(), redactor: new Redactor() };
}

/** Of an inventory the first appliance that is selected stands for all of them. */
async function selectFirstGateway({ inventory, select }: JsonObject): Promise<Gateway> {
  const deployed = inventoryById(String(inventory));
  if (!deployed) throw badConfig('The inventory is not deployed, or disabled. Deploy it first.');
  const [first] = await deployed.select(select);
  if (!first) throw badConfig('No appliance of the inventory fits the selection.');
  return first.gateway();
}

function getDraftGateway(red: NodeAPI, appliance: JsonObject): DraftGateway {
  const { properties, credentials, nodes } = readDraftSettings(red, appliance);
  const settings = readApplianceSettings(red, properties, credentials, nodes);
  const cached = cachedDrafts.get(createDraftKey(appliance.id, settings));
  if (cached) {
    cached.timer.refresh();
    return cached;
  }
  loginAttempts.assertAllowed();
  const created = { gateway: new Gateway(withDialogTimeouts(settings)), redactor: new Redactor().add(...listSecretValues(credentials)) };
  cacheDraftGateway(appliance.id, settings, created);
  return created;
}

export function withDialogTimeouts(settings: Settings): Settings {
  return { ...settings, timeout: Math.min(settings.timeout ?? DIALOG_TIMEOUT_SECONDS, DIALOG_TIMEOUT_SECONDS) };
}

/** For whatever the dialog asks with these settings, in place of what was kept for them. It is closed here, when it is no longer kept. */
export function cacheDraftGateway(id: unknown, settings: Settings, draft: DraftGateway, ms = DRAFT_TTL_MS): void {
  const key = createDraftKey(id, settings);
  closeDraft(key);
  const [oldest] = cachedDrafts.keys();
  if (cachedDrafts.size >= MAX_DRAFTS && oldest !== undefined) closeDraft(oldest);
  cachedDrafts.set(key, { ...draft, timer: setTimeout(() => closeDraft(key), ms).unref() });
}

/** Of what is secret only a digest is kept as a name. */
function createDraftKey(id: unknown, settings: Settings): string {
  return createHash('sha256')
    .update(JSON.stringify([id, settings]))
    .digest('hex');
}

function closeDraft(key: string): void {
  const cached = cachedDrafts.get(key);
  if (!cached) return;
  clearTimeout(cached.timer);
  cachedDrafts.delete(key);
  cached.gateway.close();
}
