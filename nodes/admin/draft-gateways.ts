import { createHash } from 'node:crypto';
import type { NodeAPI } from 'node-red';
import { asGatewayError } from '../../src/model/error';
import { Gateway } from '../../src/gateway/gateway';
import { isObject, type JsonObject } from '../../src/model/json';
import { Redactor } from '../../src/model/redaction';
import type { Settings } from '../../src/model/settings';
import { getApplianceById, readApplianceSettings } from '../appliance/appliance-node';
import { readDraftSettings, listSecretValues } from './draft-settings';
import { loginAttemptLimit } from './login-attempt-limit';
import { getInventoryById } from '../inventory/inventory-node';
import { badConfig } from '../common/node-properties';

/** Request timeout of a dialog, shorter than in a flow because a user waits. */
const DIALOG_TIMEOUT_SECONDS = 15;
/** How long the connection and API key stay open between the requests of a dialog. */
const DRAFT_TTL_MS = 60_000;
const MAX_DRAFTS = 4;

/** The gateway of an undeployed appliance, and the redactor for its answers. */
interface DraftGateway {
  readonly gateway: Gateway;
  readonly redactor: Redactor;
}
interface CachedDraftGateway extends DraftGateway {
  readonly timer: NodeJS.Timeout;
}

const cachedDrafts = new Map<string, CachedDraftGateway>();

/** The gateway of a dialog. A dialog must not show content from an address that nobody has deployed, because it may be any host of the network. */
interface DialogTarget extends DraftGateway {
  readonly isDeployedAddress: boolean;
}

/** The response of a route that contacts an appliance: a result or an error. */
export type DialogRouteResult =
  { ok: true; [name: string]: unknown } | { ok: false; code: string; reason?: string | undefined; message: string };

/** Runs a query on the appliance of a dialog, deployed or not. Never rejects, and masks the secrets of the draft. */
export async function withDialogGateway(
  red: NodeAPI,
  body: Readonly<JsonObject>,
  query: (gateway: Gateway, isDeployedAddress: boolean) => Promise<Record<string, unknown>>,
): Promise<DialogRouteResult> {
  let redactor = new Redactor();
  try {
    const target = await resolveGateway(red, body.appliance);
    redactor = target.redactor;
    return { ok: true, ...(await query(target.gateway, target.isDeployedAddress)) };
  } catch (thrown) {
    const error = asGatewayError(thrown);
    const { code, details } = error;
    // Some releases answer wrong credentials with 403, which has other causes too.
    if (code === 'LOGIN_REJECTED' || (code === 'FORBIDDEN' && details.login === true)) loginAttemptLimit.recordRefusals();
    return { ok: false, code, ...(details.system !== undefined && { reason: details.system }), message: redactor.message(error) };
  }
}

/** Returns the appliance of a dialog: an id alone means the deployed appliance, an id with a URL a draft. */
async function resolveGateway(red: NodeAPI, appliance: unknown): Promise<DialogTarget> {
  if (!isObject(appliance)) throw badConfig('Choose an appliance first.');
  if (typeof appliance.inventory === 'string')
    return { gateway: await selectFirstGateway(appliance), redactor: new Redactor(), isDeployedAddress: true };
  if (appliance.url !== undefined) return getDraftGateway(red, appliance);
  const deployed = typeof appliance.id === 'string' ? getApplianceById(appliance.id) : undefined;
  if (!deployed) throw badConfig('The appliance is not deployed or is disabled. Deploy it first.');
  return { gateway: deployed.gateway(), redactor: new Redactor(), isDeployedAddress: true };
}

/** Returns the first selected appliance, which stands for the inventory. */
async function selectFirstGateway({ inventory, select }: JsonObject): Promise<Gateway> {
  const deployed = getInventoryById(String(inventory));
  if (!deployed) throw badConfig('The inventory is not deployed or is disabled. Deploy it first.');
  const [first] = await deployed.select(select);
  if (!first) throw badConfig('The selection matches no appliance of the inventory.');
  return first.gateway();
}

function getDraftGateway(red: NodeAPI, appliance: JsonObject): DialogTarget {
  const { properties, credentials, nodes, isDeployedAddress } = readDraftSettings(red, appliance);
  const settings = readApplianceSettings(red, properties, credentials, nodes);
  const rehearsing = findDeployedRehearsalGateway(appliance, settings);
  if (rehearsing) return { gateway: rehearsing, redactor: new Redactor().add(...listSecretValues(credentials)), isDeployedAddress: true };
  const cached = cachedDrafts.get(createDraftKey(appliance.id, settings));
  if (cached) {
    cached.timer.refresh();
    return { ...cached, isDeployedAddress };
  }
  loginAttemptLimit.assertAllowed();
  const created = { gateway: new Gateway(withDialogTimeouts(settings)), redactor: new Redactor().add(...listSecretValues(credentials)) };
  cacheDraftGateway(appliance.id, settings, created);
  return { ...created, isDeployedAddress };
}

/**
 * Returns the gateway of the deployed appliance if it rehearses, because a dialog uses the same simulated copy. Undefined if the settings
 * have no rehearsal. Errors: `BAD_CONFIG` if the appliance is not deployed with these settings.
 */
export function findDeployedRehearsalGateway({ id }: Readonly<JsonObject>, { rehearsal, url }: Settings): Gateway | undefined {
  if (rehearsal === undefined) return undefined;
  const deployed = typeof id === 'string' ? getApplianceById(id) : undefined;
  if (deployed?.properties.rehearsal !== rehearsal || deployed.properties.url !== url)
    throw badConfig('The folder of the rehearsal is read only as deployed. Press Done and deploy, then try again.');
  return deployed.gateway();
}

export function withDialogTimeouts(settings: Settings): Settings {
  return { ...settings, timeout: Math.min(settings.timeout ?? DIALOG_TIMEOUT_SECONDS, DIALOG_TIMEOUT_SECONDS) };
}

/** Caches the gateway for later requests of the dialog and closes the previous one. The cache closes it on expiry. */
export function cacheDraftGateway(id: unknown, settings: Settings, draft: DraftGateway, ms = DRAFT_TTL_MS): void {
  const key = createDraftKey(id, settings);
  closeDraft(key);
  const [oldest] = cachedDrafts.keys();
  if (cachedDrafts.size >= MAX_DRAFTS && oldest !== undefined) closeDraft(oldest);
  cachedDrafts.set(key, { ...draft, timer: setTimeout(() => closeDraft(key), ms).unref() });
}

/** Hashes the settings, so that the key contains no secret. */
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
