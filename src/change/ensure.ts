import { emptyResultLists } from '../model/envelope';
import { asGatewayError, badInput, GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { toJsonText } from '../model/json-text';
import type { OperationContext } from '../model/operation';
import { safeMessage } from '../model/safe-message';
import { compareDesired, compareResources, maskResourceSecrets, type Difference, type FieldLocation } from './compare';
import { ignoreNotFound } from './delete-if-exists';
import { mergeForPut } from './merge-for-put';
import { expandLinkedParts } from './linked-parts';
import { readIfExists } from './read-if-exists';

/** How a resource is to be. */
export interface EnsureRequest {
  readonly path: string;
  /** What of it is given; it may depend on what is there. */
  readonly body: JsonObject | ((current: JsonObject | undefined) => JsonObject);
  /** Keys that go to a resource only when it is created. */
  readonly createOnlyKeys?: readonly string[];
  /** Written although nothing that can be compared differs: something that cannot be is to be set. */
  readonly alwaysWrite?: boolean;
}

/** What an ensure came to. */
export interface EnsureResult {
  /** The resource as it stands afterwards; undefined when it is not there. */
  readonly resource: JsonObject | undefined;
  readonly hasDifferences: boolean;
  readonly diff: readonly Difference[];
  readonly notCompared: readonly FieldLocation[];
  /** What became another value although it was not asked for. */
  readonly implicit: readonly Difference[];
}

const CANCELED_MESSAGE = 'Cancelled while it waited for another change of this resource.';

/**
 * Makes a resource so, whether it is there or not: reads, compares, writes only what differs, reads back (contract, section 6). One at a
 * time for each path. In a dry run the write is planned. Errors: `CONFLICT` with `cause.diff` when somebody else changed the resource while
 * it was looked at (nothing was written), and when it is not as it should be afterwards.
 */
export function ensureResource(request: EnsureRequest, call: OperationContext): Promise<EnsureResult> {
  const { path } = request;
  return call.runExclusive(path, () => new EnsureTask(request, call).run(), { abortMessage: CANCELED_MESSAGE, isBrief: true });
}

/** The same for a resource that is not to be there. */
export function ensureResourceAbsent(path: string, call: OperationContext): Promise<EnsureResult> {
  const deleteResource = async (): Promise<EnsureResult> => {
    const current = await readIfExists(path, call);
    if (!current) {
      call.reportUnchanged();
      return { resource: undefined, hasDifferences: false, diff: [], notCompared: [], implicit: [] };
    }
    const diff = [{ path, field: '', before: maskResourceSecrets(current), after: null }];
    await ignoreNotFound(call, () => call.write({ method: 'DELETE', path }));
    if (!call.dryRun && (await readBack(path, call))) {
      throw new GatewayError('CONFLICT', 'The resource was deleted, but it is there again: somebody else created it meanwhile.', {
        extra: { changed: true, diff },
      });
    }
    return { resource: undefined, hasDifferences: true, diff, notCompared: [], implicit: [] };
  };
  return call.runExclusive(path, deleteResource, { abortMessage: CANCELED_MESSAGE, isBrief: true });
}

/** Tells in the envelope what was ensured; in a dry run also whether it would change anything. */
export function addEnsureResults(results: readonly EnsureResult[], call: OperationContext): void {
  if (results.length === 0) return;
  const implicit = results.flatMap((result) => result.implicit);
  call.addToEnvelope({
    diff: results.flatMap((result) => result.diff),
    notCompared: results.flatMap((result) => result.notCompared),
    ...(implicit.length > 0 && { implicit }),
    ...(call.dryRun && { wouldChange: results.some((result) => result.hasDifferences) }),
  });
}

/** One resource ensured, as an operation: its data is the resource as it stands, or, of a dry run, the empty result. */
export async function ensureOneResource(request: EnsureRequest, call: OperationContext): Promise<JsonObject> {
  const result = await ensureResource(request, call);
  addEnsureResults([result], call);
  return toEnsureData(result, call);
}

export function toEnsureData({ resource }: EnsureResult, call: OperationContext): JsonObject {
  return call.dryRun ? { result: emptyResultLists() } : (resource ?? {});
}

class EnsureTask {
  readonly #path: string;
  readonly #request: EnsureRequest;
  readonly #call: OperationContext;

  constructor(request: EnsureRequest, call: OperationContext) {
    this.#path = request.path;
    this.#request = request;
    this.#call = call;
  }

  async run(): Promise<EnsureResult> {
    const call = this.#call;
    const read = await readIfExists(this.#path, call);
    const body = this.#desiredBody(read);
    if (read) rejectCollection(read, body);
    const current = read && (await expandLinkedParts(read, body, call)).resource;
    const { diff, notCompared } = compareDesired(this.#path, body, current);
    if (current && diff.length === 0 && !this.#request.alwaysWrite) {
      call.reportUnchanged();
      return { resource: current, hasDifferences: false, diff, notCompared, implicit: [] };
    }
    const latest = call.dryRun ? current : await this.#rereadUnchanged(current, body);
    await call.write({
      method: 'PUT',
      path: this.#path,
      body: mergeForPut(latest ?? {}, latest ? this.#withoutCreateOnlyKeys(body) : body),
    });
    const done = { hasDifferences: true, diff, notCompared };
    if (call.dryRun) return { ...done, resource: current, implicit: [] };
    const resource = await this.#readBackAndCheck();
    return { ...done, resource, implicit: latest ? findImplicitChanges(compareResources(this.#path, latest, resource), diff) : [] };
  }

  /** As JSON carries it. */
  #desiredBody(current: JsonObject | undefined): JsonObject {
    const { body } = this.#request;
    return JSON.parse(toJsonText(typeof body === 'function' ? body(current) : body)) as JsonObject;
  }

  #withoutCreateOnlyKeys(body: JsonObject): JsonObject {
    const { createOnlyKeys = [] } = this.#request;
    return Object.fromEntries(Object.entries(body).filter(([key]) => !createOnlyKeys.includes(key)));
  }

  /** What is there right before the write, which sends all of it back: what somebody else has changed by now would be undone by it. */
  async #rereadUnchanged(current: JsonObject | undefined, body: JsonObject): Promise<JsonObject | undefined> {
    const read = await readIfExists(this.#path, this.#call);
    const latest = read && (await expandLinkedParts(read, body, this.#call)).resource;
    const diff = current && latest ? compareResources(this.#path, current, latest) : compareExistence(this.#path, current, latest);
    if (diff.length === 0) return latest;
    throw new GatewayError('CONFLICT', 'Somebody else changed the resource while it was looked at: nothing was written. Run it again.', {
      sent: false,
      extra: { changed: false, diff },
    });
  }

  async #readBackAndCheck(): Promise<JsonObject> {
    const resource = await readBack(this.#path, this.#call, (current) => this.#desiredBody(current));
    const { diff } = compareDesired(this.#path, this.#desiredBody(resource), resource);
    if (resource && diff.length === 0) return resource;
    throw new GatewayError(
      'CONFLICT',
      'It was written, but the resource is not as it should be: somebody else changed it meanwhile, or the appliance did not take a part. The difference is in cause.diff.',
      { extra: { changed: true, diff } },
    );
  }
}

/** After a write, which a journal reads back as well: whatever keeps it from being read, it was written. */
async function readBack(
  path: string,
  call: OperationContext,
  desiredBody: (current: JsonObject) => JsonObject = () => ({}),
): Promise<JsonObject | undefined> {
  try {
    const resource = await readIfExists(path, call, true);
    return resource && (await expandLinkedParts(resource, desiredBody(resource), call, true)).resource;
  } catch (thrown) {
    const error = asGatewayError(thrown);
    throw new GatewayError(error.code, safeMessage`It was written, but could not be read back to check it: ${error}`, {
      ...error.details,
      sent: true,
      extra: { ...error.details.extra, changed: true },
    });
  }
}

function compareExistence(path: string, before: JsonObject | undefined, after: JsonObject | undefined): readonly Difference[] {
  if (!before === !after) return [];
  return [{ path, field: '', before: maskResourceSecrets(before) ?? null, after: maskResourceSecrets(after) ?? null }];
}

/** Of what changed, that which was not asked for: neither a field of the diff, nor one inside of such a field. */
function findImplicitChanges(changed: readonly Difference[], diff: readonly Difference[]): Difference[] {
  const requestedFields = new Set(diff.map(({ field }) => field));
  return changed.filter(({ field }) => {
    for (let end = field.length; end > 0; end = field.lastIndexOf('/', end - 1)) if (requestedFields.has(field.slice(0, end))) return false;
    return true;
  });
}

/** A PUT to a collection would be taken for one of an item of it. */
function rejectCollection(current: JsonObject, body: JsonObject): void {
  const [key, second] = Object.keys(current);
  if (key === undefined || second !== undefined || Object.hasOwn(body, key)) return;
  const items = current[key];
  if (Array.isArray(items) && items.every((item) => typeof item === 'string' || (isObject(item) && typeof item['href'] === 'string'))) {
    throw badInput('path is that of a collection. Give the path of one resource, with its name at the end.');
  }
}
