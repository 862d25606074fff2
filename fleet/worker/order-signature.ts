import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { GatewayError, safeMessage, trusted } from '@gateway-admin/node-red';
import type { ItemOutcome, ItemRow, RequestedItem, RunRequest, RunRow } from '../store/rows';
import { normalizeForDatabase, toStorableJson, toStorableText } from '../store/storable-text';

/** The properties of a run that decide what an item does. */
type SignedRun = Pick<
  RunRow,
  'fleet' | 'id' | 'kind' | 'operation' | 'input' | 'credentials' | 'dry_run' | 'with_data' | 'repeats' | 'approved'
> &
  Pick<RunRow, 'canary' | 'ends' | 'max_failures' | 'total' | 'node' | 'initiator'>;
type SignedItem = Pick<ItemRow, 'index' | 'appliance' | 'target' | 'input'>;

/** Signs each item of a new run with a key that is not in the database. Without a key, nothing is signed. */
export function signRunItems(
  request: Omit<RunRequest, 'items'>,
  items: readonly RequestedItem[],
  fleet: string,
  key: string | undefined,
): RequestedItem[] {
  if (key === undefined || key === '') return [...items];
  const run: SignedRun = toStored({
    ...{ fleet, id: request.id, kind: request.kind, operation: request.operation, input: request.input },
    ...{
      credentials: request.credentials ?? null,
      dry_run: request.dryRun,
      with_data: request.withData,
      repeats: request.repeats,
      approved: request.approved ?? null,
    },
    ...{ canary: request.canary, ends: request.ends, total: items.length, node: request.node, initiator: request.initiator },
    max_failures: Number.isFinite(request.maxFailures) ? request.maxFailures : null,
  });
  const digest = hashRun(run);
  return items.map((item, index) => ({
    ...item,
    mac: signItem(digest, toStored({ index, appliance: item.appliance, target: item.target ?? null, input: item.input ?? null }), key),
  }));
}

/** Checks the signatures of items of one run. Errors: `BAD_CONFIG` for an item that somebody without the key wrote or changed in the database. */
export function assertItemsSigned(run: SignedRun, items: readonly (SignedItem & Pick<ItemRow, 'mac'>)[], key: string | undefined): void {
  if (key === undefined || key === '') return;
  const runHash = hashRun(run);
  for (const item of items) {
    if (isSameCode(item.mac, signItem(runHash, item, key))) continue;
    throw new GatewayError(
      'BAD_CONFIG',
      safeMessage`The order for ${item.appliance} has no valid code of the signing key, so it was not executed. Somebody wrote it into the database, or the engine that started it has another ${trusted('signing key')} in its inventory.`,
      { sent: false },
    );
  }
}

/** The run and the item that a plan belongs to. `mac` connects the plan with the order that was planned. */
type PlannedItem = Pick<ItemRow, 'run' | 'index' | 'appliance' | 'target' | 'mac'>;

/** Gives the code of the plan of one item. Undefined without a key. */
export function signPlan(fleet: string, item: PlannedItem, plan: ItemOutcome['plan'], key: string | undefined): string | undefined {
  return key === undefined || key === '' ? undefined : computePlanCode(fleet, item, toStored(plan ?? null), key);
}

/** Checks the codes of stored plans. Errors: `BAD_CONFIG` for a plan that somebody without the key wrote or changed in the database. */
export function assertPlansSigned(
  fleet: string,
  items: readonly (PlannedItem & Pick<ItemRow, 'plan' | 'plan_mac'>)[],
  key: string | undefined,
): void {
  if (key === undefined || key === '') return;
  for (const item of items) {
    if (isSameCode(item.plan_mac, computePlanCode(fleet, item, item.plan, key))) continue;
    throw new GatewayError(
      'BAD_CONFIG',
      safeMessage`The plan ${item.run} for ${item.appliance} has no valid code of the signing key, so it was not used. Somebody changed it in the database, or the engine that planned has another ${trusted('signing key')} in its inventory. Plan again.`,
      { sent: false },
    );
  }
}

function computePlanCode(fleet: string, { run, index, appliance, target, mac }: PlannedItem, plan: ItemRow['plan'], key: string): string {
  const text = JSON.stringify(normalizeForDatabase([fleet, run, index, appliance, target, mac, plan]));
  return createHmac('sha256', key).update(`gateway-fleet plan\n${text}`).digest('hex');
}

function isSameCode(code: string | null, expectedCode: string): boolean {
  const actual = Buffer.from(code ?? '', 'hex');
  const expected = Buffer.from(expectedCode, 'hex');
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

/** Hash of the run, computed once because its input can be long. */
function hashRun(run: SignedRun): string {
  const { fleet, id, kind, operation, input, credentials, dry_run, with_data, repeats, approved } = run;
  const { canary, ends, max_failures, total, node, initiator } = run;
  const order = [fleet, id, kind, operation, input, credentials, dry_run, with_data, repeats, approved];
  const text = JSON.stringify(normalizeForDatabase([...order, canary, ends, max_failures, total, node, initiator]));
  return createHash('sha256').update(text).digest('hex');
}

function signItem(runHash: string, { index, appliance, target, input }: SignedItem, key: string): string {
  const text = JSON.stringify(normalizeForDatabase([runHash, index, appliance, target, input]));
  return createHmac('sha256', key).update(`gateway-fleet order\n${text}`).digest('hex');
}

/** Returns the value in the form in which the database returns it. */
function toStored<T>(value: T): T {
  return JSON.parse(toStorableText(toStorableJson(JSON.stringify(value)))) as T;
}
