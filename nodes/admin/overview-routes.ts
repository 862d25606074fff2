import type { NodeAPI } from 'node-red';
import { badInput, asGatewayError } from '../../src/model/error';
import type { Gateway } from '../../src/gateway/gateway';
import type { JsonObject } from '../../src/model/json';
import { decideWaitingPlan, setWaitingListener } from '../action/approvals';
import { translatorFor } from '../common/i18n';
import { notifyApplianceFactsChanged, setApplianceFactsListener } from '../overview/appliance-facts';
import { findAppliance, readOverview } from '../overview/overview';
import { createPostRoute, createReadRoute, createScriptRoute } from './admin-route';
import type { DialogRouteResult } from './draft-gateways';

/** Topic that tells open sidebars to read the overview again. It carries no data. */
const CHANGED_TOPIC = 'gateway-appliance/overview';
const NOTIFY_INTERVAL_MS = 500;
const MAX_REFRESH_MS = 30_000;
const CONCURRENCY = 6;
/** Maximum number of requests in the plan of an undo. */
const MAX_PLAN = 50;

/** The routes of the sidebar. Only `…/refresh` (reads) and `…/undo` (writes) contact the appliance. */
export const overviewRoutes = [
  createReadRoute('/gateway-appliance/overview', readOverview),
  createPostRoute('/gateway-appliance/refresh', (_red, body, signal) => answer(() => refresh(body, signal)), CONCURRENCY),
  createPostRoute('/gateway-appliance/decide', (_red, body, _signal, user) => answer(() => decide(body, user))),
  createPostRoute('/gateway-appliance/undo', (red, body, signal, user) => answer(() => undo(red, body, signal, user))),
  createScriptRoute('sidebar.js', 'gateway-appliance.read'),
];

/** Tells open sidebars about changes, at most twice a second. */
export function publishOverviewChanges(red: NodeAPI): void {
  let timer: NodeJS.Timeout | undefined;
  const publish = (): void => {
    timer = undefined;
    red.comms.publish(CHANGED_TOPIC, {}, false);
  };
  setWaitingListener(notifyApplianceFactsChanged);
  setApplianceFactsListener(() => void (timer ??= setTimeout(publish, NOTIFY_INTERVAL_MS).unref()));
}

async function answer(work: () => Promise<Record<string, unknown>>): Promise<DialogRouteResult> {
  try {
    return { ok: true, ...(await work()) };
  } catch (thrown) {
    const { code, message } = asGatewayError(thrown);
    return { ok: false, code, message };
  }
}

/** Reads the values that the sidebar shows; the gateway observer records them. An unreadable part does not hide the others. */
async function refresh(body: Readonly<JsonObject>, clientSignal: AbortSignal): Promise<Record<string, unknown>> {
  const { gateway, facts } = findAppliance(body);
  const signal = AbortSignal.any([clientSignal, AbortSignal.timeout(MAX_REFRESH_MS)]);
  await gateway.run('sessions.list', { limit: 1 }, { signal });
  await gateway.run('license.lease-info', {}, { signal }).catch((thrown: unknown) => {
    const { message } = asGatewayError(thrown);
    facts.licenses = { at: new Date().toISOString(), value: message };
  });
  return {};
}

async function decide({ id, decision }: Readonly<JsonObject>, user: string | undefined): Promise<Record<string, unknown>> {
  if (decision !== 'approve' && decision !== 'reject') throw badInput('decision must be approve or reject. Nothing was decided.');
  decideWaitingPlan({ property: decision, id }, user);
  return Promise.resolve({});
}

/** Plans the undo of journal entries, or performs it if `confirmed` is true. */
async function undo(
  red: NodeAPI,
  body: Readonly<JsonObject>,
  signal: AbortSignal,
  user: string | undefined,
): Promise<Record<string, unknown>> {
  const { entries, confirmed } = body;
  const ids = Array.isArray(entries) ? entries.filter((id) => typeof id === 'string') : [];
  if (ids.length === 0) throw badInput('entries must be ids of the journal. Nothing was sent.');
  const { gateway, facts } = findAppliance(body);
  const options = { signal, translate: translatorFor(red), initiator: { actor: user, node: 'Gateways (sidebar)' } };
  const { envelope, many } = await runUndo(gateway, ids, { ...options, dryRun: confirmed !== true });
  const { ok, summary, plan = [], dryRun } = envelope;
  if (!dryRun && ok) for (const id of ids) facts.undone.add(id);
  if (!dryRun) notifyApplianceFactsChanged();
  const failures = many?.results.flatMap((result) => ('error' in result ? [result.error.message] : [])) ?? [];
  return { summary: [summary, ...failures].join(' '), dryRun, plan: plan.slice(0, MAX_PLAN), requests: plan.length };
}

function runUndo(gateway: Gateway, id: string[], options: Parameters<Gateway['run']>[2]): ReturnType<Gateway['run']> {
  return gateway.run('journal.undo' as string, { id }, options);
}
