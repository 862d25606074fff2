import type { NodeAPI } from 'node-red';
import { badInput } from '../../src/model/error';
import type { Gateway } from '../../src/gateway/gateway';
import { isObject, type JsonObject } from '../../src/model/json';
import { MASK, redactSecrets } from '../../src/model/redaction';
import { trusted, safeMessage } from '../../src/model/safe-message';
import { createPostRoute } from './admin-route';
import { readDialogOperation } from './dialog-operation';
import { withDialogGateway } from './draft-gateways';

const MAX_TRY_MS = 30_000;
/** Maximum number of rows in the result table of the dialog. */
const MAX_ROWS = 100;
const MAX_RESULT_CHARACTERS = 300_000;
/** Maximum length of a text in the result. A longer text is a document, such as an export with secrets. */
const MAX_TEXT_CHARACTERS = 2000;

/** The data that the dialog shows. A table has only its first rows. */
interface TryNowResult {
  readonly data?: unknown;
  /** Number of entries of the whole list, of which `data` has the first ones. */
  readonly total?: number;
  /** Size of data that is too large to show. */
  readonly bytes?: number;
}

/** `POST /gateway-appliance/try` runs a read as the dialog describes it, and returns its data with masked secrets. */
export const tryNowRoute = createPostRoute('/gateway-appliance/try', (red, body, clientSignal) =>
  withDialogGateway(red, body, (gateway, isDeployedAddress) => {
    // Otherwise a dialog could read documents of any host that this machine reaches.
    if (!isDeployedAddress) throw badInput('The appliance is not deployed with this address. Deploy it first.');
    return tryRead(red, gateway, body, clientSignal);
  }),
);

async function tryRead(
  red: NodeAPI,
  gateway: Gateway,
  body: Readonly<JsonObject>,
  clientSignal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { name, operation, input } = await readDialogOperation(red, body);
  if (operation.effect !== 'read') throw badInput('Only an operation that reads can be tried. Use the preview for a change.');
  for (const [field, { secret }] of Object.entries(operation.fields))
    if (secret && input[field] === MASK)
      throw badInput(safeMessage`${trusted(field)} is a secret of the node, which only the node itself uses. Deploy the node and run it.`);
  const signal = AbortSignal.any([clientSignal, AbortSignal.timeout(MAX_TRY_MS)]);
  const started = performance.now();
  const { data } = await gateway.run(name, input, { signal });
  return { operation: name, ms: Math.round(performance.now() - started), ...toTryNowResult(data) };
}

/** Masks secrets and omits what the dialog cannot show. */
function toTryNowResult(data: unknown): TryNowResult {
  if (Buffer.isBuffer(data)) return { bytes: data.length };
  if (typeof data === 'string')
    return data.length > MAX_TEXT_CHARACTERS ? { bytes: Buffer.byteLength(data) } : { data: redactSecrets(data) };
  if (Array.isArray(data)) return toListResult(data);
  if (!isObject(data)) return { data };
  const shown = redactSecrets(data);
  const { length } = JSON.stringify(shown);
  return length > MAX_RESULT_CHARACTERS ? { bytes: length } : { data: shown };
}

function toListResult(list: readonly unknown[]): TryNowResult {
  let rows = redactSecrets(list.slice(0, MAX_ROWS));
  while (rows.length > 1 && JSON.stringify(rows).length > MAX_RESULT_CHARACTERS) rows = rows.slice(0, Math.ceil(rows.length / 2));
  return { data: rows, total: list.length };
}
