import { createEmptyMessageLists } from '../model/envelope';
import { asGatewayError, badInput, GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { toJsonText } from '../model/json-text';
import type { OperationContext } from '../model/operation';
import { encodePathSegment } from '../model/path';
import { safeMessage, trusted } from '../model/safe-message';
import { compareWithDesired, compareResources, maskResourceSecrets, type Difference, type FieldLocation } from './compare';
import { ignoreNotFound } from './if-exists';
import { mergeForPut } from './merge-for-put';
import { expandLinkedParts } from './linked-parts';
import { findNameLists } from './name-lists';
import { resourceExists } from './resource-state';
import { UnorderedLists } from './unordered-lists';
import { readIfExists } from './if-exists';

/** The desired state of one resource. */
interface EnsureRequest {
  readonly path: string;
  /** The desired values, or a function that computes them from the current resource. */
  readonly body: JsonObject | ((current: JsonObject | undefined) => JsonObject);
  /** Keys that are sent only when the resource is created. */
  readonly createOnlyKeys?: readonly string[];
  /** Writes even if nothing differs, for example to set a password, which cannot be compared. */
  readonly alwaysWrite?: boolean;
  /** Lists in which the order of the items does not count. */
  readonly unordered?: UnorderedLists;
}

/** The result of ensuring one resource. */
export interface EnsureResult {
  /** The resource after the run; undefined if it does not exist. */
  readonly resource: JsonObject | undefined;
  readonly hasDifferences: boolean;
  readonly diff: readonly Difference[];
  readonly notCompared: readonly FieldLocation[];
  /** Changes that the appliance made although nobody asked for them. */
  readonly implicit: readonly Difference[];
}

const CANCELED_MESSAGE = 'Canceled while waiting for another change of this resource. Nothing was sent.';

/**
 * Brings a resource into its desired state: reads, compares, writes only if something differs, and reads back (contract, section 6). Runs
 * one at a time per path. A dry run plans the write. Throws `CONFLICT` with `cause.diff` if somebody else changed the resource before the
 * write, or if it differs after the write.
 */
export function ensureResource(request: EnsureRequest, call: OperationContext): Promise<EnsureResult> {
  const { path } = request;
  return call.runExclusive(path, () => new EnsureTask(request, call).run(), { abortMessage: CANCELED_MESSAGE, isBrief: true });
}

/** Deletes the resource if it exists, and checks that it stays deleted. */
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
      throw new GatewayError('CONFLICT', 'The resource was deleted, but exists again: somebody else created it meanwhile.', {
        extra: { changed: true, diff },
      });
    }
    return { resource: undefined, hasDifferences: true, diff, notCompared: [], implicit: [] };
  };
  return call.runExclusive(path, deleteResource, { abortMessage: CANCELED_MESSAGE, isBrief: true });
}

/** Adds the differences to the envelope. A dry run also gets `wouldChange`. */
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

/** Ensures one resource and returns it. A dry run returns an empty result. */
export async function ensureOneResource(request: EnsureRequest, call: OperationContext): Promise<JsonObject> {
  const result = await ensureResource(request, call);
  addEnsureResults([result], call);
  return toEnsureResultData(result, call);
}

export function toEnsureResultData({ resource }: EnsureResult, call: OperationContext): JsonObject {
  return call.dryRun ? { result: createEmptyMessageLists() } : (resource ?? {});
}

class EnsureTask {
  readonly #path: string;
  readonly #request: EnsureRequest;
  readonly #call: OperationContext;
  readonly #unordered: UnorderedLists;

  constructor(request: EnsureRequest, call: OperationContext) {
    this.#path = request.path;
    this.#unordered = request.unordered ?? new UnorderedLists();
    this.#request = request;
    this.#call = call;
  }

  async run(): Promise<EnsureResult> {
    const call = this.#call;
    const read = await readIfExists(this.#path, call);
    const body = this.#desiredBody(read);
    if (read) await rejectCollection(this.#path, read, body, call);
    const current = read && (await expandLinkedParts(read, body, call)).resource;
    const { diff, notCompared } = compareWithDesired(this.#path, this.#align(body, current), current);
    if (current && diff.length === 0 && !this.#request.alwaysWrite) {
      call.reportUnchanged();
      return { resource: current, hasDifferences: false, diff, notCompared, implicit: [] };
    }
    const latest = call.dryRun ? current : await this.#rereadUnchanged(current, body);
    await call.write({
      method: 'PUT',
      path: this.#path,
      body: mergeForPut(latest ?? {}, latest ? this.#withoutCreateOnlyKeys(this.#align(body, latest)) : body),
    });
    call.reportDifference();
    const done = { hasDifferences: true, diff, notCompared };
    if (call.dryRun) return { ...done, resource: current, implicit: [] };
    const resource = await this.#readBackAndCheck();
    return { ...done, resource, implicit: latest ? findImplicitChanges(this.#compareStates(latest, resource), diff) : [] };
  }

  /** Converts the body to what JSON transports: undefined values vanish. */
  #desiredBody(current: JsonObject | undefined): JsonObject {
    const { body } = this.#request;
    return JSON.parse(toJsonText(typeof body === 'function' ? body(current) : body)) as JsonObject;
  }

  #align(desired: JsonObject, current: JsonObject | undefined): JsonObject {
    return this.#unordered.align(this.#path, desired, current);
  }

  #compareStates(before: JsonObject, after: JsonObject): readonly Difference[] {
    const [first, second] = [before, after].map((resource) => this.#unordered.sort(this.#path, resource));
    return compareResources(this.#path, first ?? {}, second ?? {});
  }

  #withoutCreateOnlyKeys(body: JsonObject): JsonObject {
    const { createOnlyKeys = [] } = this.#request;
    return Object.fromEntries(Object.entries(body).filter(([key]) => !createOnlyKeys.includes(key)));
  }

  /**
   * Reads the resource again directly before the write. The PUT sends everything back, so it would undo a change that somebody made
   * meanwhile.
   */
  async #rereadUnchanged(current: JsonObject | undefined, body: JsonObject): Promise<JsonObject | undefined> {
    const read = await readIfExists(this.#path, this.#call);
    const latest = read && (await expandLinkedParts(read, body, this.#call)).resource;
    const diff = current && latest ? this.#compareStates(current, latest) : compareExistence(this.#path, current, latest);
    if (diff.length === 0) return latest;
    throw new GatewayError('CONFLICT', 'Somebody else changed the resource during the comparison. Nothing was written. Run it again.', {
      sent: false,
      extra: { changed: false, diff },
    });
  }

  async #readBackAndCheck(): Promise<JsonObject> {
    const resource = await readBack(this.#path, this.#call, (current) => this.#desiredBody(current));
    const { diff } = compareWithDesired(this.#path, this.#align(this.#desiredBody(resource), resource), resource);
    if (resource && diff.length === 0) return resource;
    const normalized = diff.find(({ before, after }) => isNormalized(before, after));
    const message = normalized
      ? safeMessage`The resource was written, but the appliance made ${JSON.stringify(normalized.before)} of ${JSON.stringify(normalized.after)} in ${normalized.field}. The same value will be written at every run: use the stored value. The difference is in cause.diff.`
      : trusted(
          'The resource was written, but still differs: somebody else changed it meanwhile, or the appliance ignored a part. The difference is in cause.diff.',
        );
    throw new GatewayError('CONFLICT', message, { extra: { changed: true, diff } });
  }
}

/** Reads the resource after a write. Any error reports that the write has happened. */
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
    throw new GatewayError(error.code, safeMessage`The resource was written, but could not be read back to check it: ${error}`, {
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

/** Returns the changes that are neither fields of the diff nor inside such a field. */
function findImplicitChanges(changed: readonly Difference[], diff: readonly Difference[]): Difference[] {
  const requestedFields = new Set(diff.map(({ field }) => field));
  return changed.filter(({ field }) => {
    for (let end = field.length; end > 0; end = field.lastIndexOf('/', end - 1)) if (requestedFields.has(field.slice(0, end))) return false;
    return true;
  });
}

/** Returns whether the appliance stored the value in another notation: trimmed, in another case, or as another form of the number. */
function isNormalized(stored: unknown, sent: unknown): boolean {
  if (![stored, sent].every((value) => typeof value === 'string' || typeof value === 'number')) return false;
  const [storedText, sentText] = [stored, sent].map((value) => String(value).trim().toLowerCase());
  return storedText === sentText || (storedText !== '' && sentText !== '' && Number(storedText) === Number(sentText));
}

/** Throws `BAD_INPUT` for a collection, because the appliance takes a PUT there as one of an item. */
async function rejectCollection(path: string, current: JsonObject, body: JsonObject, call: OperationContext): Promise<void> {
  const [key, second] = Object.keys(current);
  if (key === undefined || second !== undefined || Object.hasOwn(body, key)) return;
  const items = current[key];
  if (!Array.isArray(items)) return;
  const isCollection =
    items.length === 0
      ? path.endsWith(`/${encodePathSegment(key)}`)
      : (items.every((item) => typeof item === 'string' || hasHref(item)) && items.some(hasHref)) ||
        (await listsResources(path, current, call));
  if (isCollection)
    throw badInput('path is the path of a collection. Enter the path of one resource, with its name at the end. Nothing was sent.');
}

function hasHref(item: unknown): boolean {
  return isObject(item) && typeof item['href'] === 'string';
}

/** Returns whether the only field is a list of names that are resources. A list of plain texts is not a collection. */
async function listsResources(path: string, current: JsonObject, call: OperationContext): Promise<boolean> {
  const [list] = findNameLists(path, current);
  const [first] = list?.paths ?? [];
  return first !== undefined && (await resourceExists(first, call));
}
