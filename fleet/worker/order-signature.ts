import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { GatewayError, safeMessage, trusted } from '@gateway-admin/node-red';
import type { ItemRow, RequestedItem, RunRequest, RunRow } from '../store/rows';
import { sortKeys, toStorableJson, toStorableText } from '../store/storable-text';

/** The properties of a run that decide what an item does. */
type SignedRun = Pick<
  RunRow,
  'fleet' | 'id' | 'kind' | 'operation' | 'input' | 'credentials' | 'dry_run' | 'with_data' | 'repeats' | 'approved'
> &
  Pick<RunRow, 'canary' | 'ends' | 'max_failures' | 'total' | 'node' | 'initiator'>;
type SignedItem = Pick<ItemRow, 'index' | 'appliance' | 'target' | 'input'>;

/** Signs each item of a new run with a key that is not in the database. Without a key, nothing is signed. */
export function signItems(
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

/** Checks the signature of an item. Errors: `BAD_CONFIG` for an item that somebody without the key wrote or changed in the database. */
export function assertSigned(run: SignedRun, item: SignedItem & Pick<ItemRow, 'mac'>, key: string | undefined): void {
  if (key === undefined || key === '') return;
  const expected = Buffer.from(signItem(hashRun(run), item, key), 'hex');
  const actual = Buffer.from(item.mac ?? '', 'hex');
  if (actual.length === expected.length && timingSafeEqual(actual, expected)) return;
  throw new GatewayError(
    'BAD_CONFIG',
    safeMessage`The order for ${item.appliance} has no valid code of the signing key, so it was not executed. Somebody wrote it into the database, or the engine that started it has another ${trusted('signing key')} in its inventory.`,
    { sent: false },
  );
}

/** Hash of the run, computed once because its input can be long. */
function hashRun(run: SignedRun): string {
  const { fleet, id, kind, operation, input, credentials, dry_run, with_data, repeats, approved } = run;
  const { canary, ends, max_failures, total, node, initiator } = run;
  const order = [fleet, id, kind, operation, input, credentials, dry_run, with_data, repeats, approved];
  const text = JSON.stringify(sortKeys([...order, canary, ends, max_failures, total, node, initiator]));
  return createHash('sha256').update(text).digest('hex');
}

function signItem(runHash: string, { index, appliance, target, input }: SignedItem, key: string): string {
  const text = JSON.stringify(sortKeys([runHash, index, appliance, target, input]));
  return createHmac('sha256', key).update(`gateway-fleet order\n${text}`).digest('hex');
}

/** Returns the value in the form in which the database returns it. */
function toStored<T>(value: T): T {
  return JSON.parse(toStorableText(toStorableJson(JSON.stringify(value)))) as T;
}
