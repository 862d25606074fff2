import { emptyResult } from '../model/envelope';
import { asGatewayError, badInput, GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { jsonText } from '../model/json-text';
import type { Call } from '../model/operation';
import { sentence } from '../model/sentence';
import { compareGiven, compareWhole, withoutSecrets, type Difference, type Place } from './compare';
import { unlessMissing } from './missing-ok';
import { overlay } from './overlay';
import { withParts } from './parts';
import { readIfThere } from './read';

/** How a resource is to be. */
export interface Wanted {
  readonly path: string;
  /** What of it is given; it may depend on what is there. */
  readonly body: JsonObject | ((present: JsonObject | undefined) => JsonObject);
  /** Keys that go to a resource only when it is created. */
  readonly onlyNew?: readonly string[];
  /** Written although nothing that can be compared differs: something that cannot be is to be set. */
  readonly always?: boolean;
}

/** What an ensure came to. */
export interface Ensured {
  /** The resource as it stands afterwards; undefined when it is not there. */
  readonly resource: JsonObject | undefined;
  readonly differs: boolean;
  readonly diff: readonly Difference[];
  readonly notCompared: readonly Place[];
  /** What became another value although it was not asked for. */
  readonly implicit: readonly Difference[];
}

const CANCELLED = 'Cancelled while it waited for another change of this resource.';

/**
 * Makes a resource so, whether it is there or not: reads, compares, writes only what differs, reads back (contract, section 6). One at a
 * time for each path. In a dry run the write is planned. Errors: `CONFLICT` with `cause.diff` when somebody else changed the resource while
 * it was looked at (nothing was written), and when it is not as it should be afterwards.
 */
export function ensure(wanted: Wanted, call: Call): Promise<Ensured> {
  const { path } = wanted;
  return call.exclusive(path, () => new Change(wanted, call).make(), { cancelled: CANCELLED, brief: true });
}

/** The same for a resource that is not to be there. */
export function ensureAbsent(path: string, call: Call): Promise<Ensured> {
  const remove = async (): Promise<Ensured> => {
    const present = await readIfThere(path, call);
    if (!present) {
      call.unchanged();
      return { resource: undefined, differs: false, diff: [], notCompared: [], implicit: [] };
    }
    const diff = [{ path, field: '', before: withoutSecrets(present), after: null }];
    await unlessMissing(call, () => call.write({ method: 'DELETE', path }));
    if (!call.dryRun && (await readBack(path, call))) {
      throw new GatewayError('CONFLICT', 'The resource was deleted, but it is there again: somebody else created it meanwhile.', {
        extra: { changed: true, diff },
      });
    }
    return { resource: undefined, differs: true, diff, notCompared: [], implicit: [] };
  };
  return call.exclusive(path, remove, { cancelled: CANCELLED, brief: true });
}

/** Tells in the envelope what was ensured; in a dry run also whether it would change anything. */
export function noteEnsured(ensured: readonly Ensured[], call: Call): void {
  if (ensured.length === 0) return;
  const implicit = ensured.flatMap((one) => one.implicit);
  call.note({
    diff: ensured.flatMap((one) => one.diff),
    notCompared: ensured.flatMap((one) => one.notCompared),
    ...(implicit.length > 0 && { implicit }),
    ...(call.dryRun && { wouldChange: ensured.some((one) => one.differs) }),
  });
}

/** One resource ensured, as an operation: its data is the resource as it stands, or, of a dry run, the empty result. */
export async function ensureOne(wanted: Wanted, call: Call): Promise<JsonObject> {
  const ensured = await ensure(wanted, call);
  noteEnsured([ensured], call);
  return dataOf(ensured, call);
}

export function dataOf({ resource }: Ensured, call: Call): JsonObject {
  return call.dryRun ? { result: emptyResult() } : (resource ?? {});
}

class Change {
  readonly #path: string;
  readonly #wanted: Wanted;
  readonly #call: Call;

  constructor(wanted: Wanted, call: Call) {
    this.#path = wanted.path;
    this.#wanted = wanted;
    this.#call = call;
  }

  async make(): Promise<Ensured> {
    const call = this.#call;
    const read = await readIfThere(this.#path, call);
    const body = this.#given(read);
    if (read) refuseCollection(read, body);
    const present = read && (await withParts(read, body, call)).resource;
    const { diff, notCompared } = compareGiven(this.#path, body, present);
    if (present && diff.length === 0 && !this.#wanted.always) {
      call.unchanged();
      return { resource: present, differs: false, diff, notCompared, implicit: [] };
    }
    const fresh = call.dryRun ? present : await this.#still(present, body);
    await call.write({ method: 'PUT', path: this.#path, body: overlay(fresh ?? {}, fresh ? this.#withoutNew(body) : body) });
    const done = { differs: true, diff, notCompared };
    if (call.dryRun) return { ...done, resource: present, implicit: [] };
    const resource = await this.#written();
    return { ...done, resource, implicit: fresh ? implicitly(compareWhole(this.#path, fresh, resource), diff) : [] };
  }

  /** As JSON carries it. */
  #given(present: JsonObject | undefined): JsonObject {
    const { body } = this.#wanted;
    return JSON.parse(jsonText(typeof body === 'function' ? body(present) : body)) as JsonObject;
  }

  #withoutNew(body: JsonObject): JsonObject {
    const { onlyNew = [] } = this.#wanted;
    return Object.fromEntries(Object.entries(body).filter(([key]) => !onlyNew.includes(key)));
  }

  /** What is there right before the write, which sends all of it back: what somebody else has changed by now would be undone by it. */
  async #still(present: JsonObject | undefined, body: JsonObject): Promise<JsonObject | undefined> {
    const read = await readIfThere(this.#path, this.#call);
    const fresh = read && (await withParts(read, body, this.#call)).resource;
    const diff = present && fresh ? compareWhole(this.#path, present, fresh) : cameOrWent(this.#path, present, fresh);
    if (diff.length === 0) return fresh;
    throw new GatewayError('CONFLICT', 'Somebody else changed the resource while it was looked at: nothing was written. Run it again.', {
      sent: false,
      extra: { changed: false, diff },
    });
  }

  async #written(): Promise<JsonObject> {
    const resource = await readBack(this.#path, this.#call, (present) => this.#given(present));
    const { diff } = compareGiven(this.#path, this.#given(resource), resource);
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
  call: Call,
  given: (present: JsonObject) => JsonObject = () => ({}),
): Promise<JsonObject | undefined> {
  try {
    const resource = await readIfThere(path, call, true);
    return resource && (await withParts(resource, given(resource), call, true)).resource;
  } catch (thrown) {
    const error = asGatewayError(thrown);
    throw new GatewayError(error.code, sentence`It was written, but could not be read back to check it: ${error}`, {
      ...error.details,
      sent: true,
      extra: { ...error.details.extra, changed: true },
    });
  }
}

function cameOrWent(path: string, before: JsonObject | undefined, after: JsonObject | undefined): readonly Difference[] {
  if (!before === !after) return [];
  return [{ path, field: '', before: withoutSecrets(before) ?? null, after: withoutSecrets(after) ?? null }];
}

/** Of what changed, that which was not asked for: neither a field of the diff, nor one inside of such a field. */
function implicitly(changed: readonly Difference[], diff: readonly Difference[]): Difference[] {
  const asked = new Set(diff.map(({ field }) => field));
  return changed.filter(({ field }) => {
    for (let end = field.length; end > 0; end = field.lastIndexOf('/', end - 1)) if (asked.has(field.slice(0, end))) return false;
    return true;
  });
}

/** A PUT to a collection would be taken for one of an item of it. */
function refuseCollection(present: JsonObject, body: JsonObject): void {
  const [key, second] = Object.keys(present);
  if (key === undefined || second !== undefined || Object.hasOwn(body, key)) return;
  const items = present[key];
  if (Array.isArray(items) && items.every((item) => typeof item === 'string' || (isObject(item) && typeof item['href'] === 'string'))) {
    throw badInput('path is that of a collection. Give the path of one resource, with its name at the end.');
  }
}
