import { compareGiven, compareTrees, SECRET, withoutSecrets, type Difference } from '../change/compare';
import { allOf, mapOf } from '../change/put-back';
import { isTracked, itemPaths, stateBefore, stateNow, type Found, type State } from '../change/state';
import { isoTime } from '../model/envelope';
import { asGatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import type { Request } from '../model/request';
import { leavesUnchanged } from '../run/repeat';
import type { AroundWrite, Write } from '../run/writes';
import { MASK } from '../model/redaction';
import type { Kept } from './kept';
import type { JournalWriter, Told } from './writer';

/** Who does it: what a journal tells besides the write itself. */
export interface Initiator {
  readonly node?: string | undefined;
  readonly flow?: string | undefined;
  readonly actor?: string | undefined;
}

export interface JournalParts {
  readonly writer: JournalWriter;
  readonly call: Call;
  readonly appliance: string;
  readonly operation: string;
  readonly by: Initiator;
  readonly mask: <T>(value: T) => T;
}

const SYSTEM = '/api/v1/system/system-information';

/**
 * Records every write that leaves: announced, flushed, before it is sent, and completed after it. Of a write of the configuration tree
 * what was there is read before, and what it left after. Errors: `BAD_CONFIG` when the
 * journal cannot be written; nothing was sent.
 */
export function journalled(parts: JournalParts): AroundWrite {
  const { call } = parts;
  const ids: string[] = [];
  const announced = (id: string): void => {
    ids.push(id);
    call.note({ journal: ids.length === 1 ? id : ids });
  };
  return (write, proceed) => {
    let waited = false;
    // What the run has read before it waited for another write is of before that.
    const recorded = (): Promise<Outcome> => new Recording(parts, write, announced).run(proceed, !waited);
    if (!isTracked(write.request)) return recorded();
    // The next one of the same resource begins when it is known what this one left.
    return call.exclusive(`journal ${placeOf(write.request)}`, recorded, { onWait: () => (waited = true), brief: true });
  };
}

type Outcome = Awaited<ReturnType<AroundWrite>>;

class Recording {
  readonly #parts: JournalParts;
  readonly #write: Write;
  readonly #announced: (id: string) => void;

  constructor(parts: JournalParts, write: Write, announced: (id: string) => void) {
    this.#parts = parts;
    this.#write = write;
    this.#announced = announced;
  }

  /** `known`: what the run has just read is what is there before. */
  async run(proceed: () => Promise<Outcome>, known: boolean): Promise<Outcome> {
    const { writer, call } = this.#parts;
    const { request } = this.#write;
    const found = isTracked(request) ? await stateBefore(request, call, known) : undefined;
    const undo = found !== undefined && found.subject.paths.length > 0;
    const told = await this.#told(undo);
    const id = await writer.announce(told, undo ? { ...found, ...sent(request) } : undefined);
    this.#announced(id);
    let written: Outcome;
    try {
      written = await proceed();
    } catch (thrown) {
      const error = asGatewayError(thrown);
      const unchanged = leavesUnchanged(error);
      const after = undo && !unchanged ? await this.#after(found, false) : undefined;
      const how = { ok: false, status: error.details.status ?? null, code: error.code, changed: unchanged ? false : null };
      await this.#complete(id, { ...told, ...how, undo: undo && !unchanged }, after);
      throw thrown;
    }
    const after = undo ? await this.#after(found, true) : undefined;
    const diff = found ? this.#differences(found, after?.after) : null;
    await this.#complete(id, { ...told, status: written.status, ok: true, changed: diff ? changes(request, diff) : true, diff }, after);
    return written;
  }

  #differences(found: Found, after: State | undefined): readonly Difference[] | null {
    try {
      return this.#mask(differences(this.#write.request, found, after));
    } catch {
      // Nested beyond measure: it was written all the same.
      return null;
    }
  }

  /** What the write left; where that cannot be read, an undo goes by what was there and what was sent. */
  async #after({ subject }: Found, done: boolean): Promise<{ after: State } | undefined> {
    if (done && this.#write.request.method === 'DELETE') return { after: {} };
    try {
      return { after: await stateNow(subject, this.#parts.call) };
    } catch {
      return undefined;
    }
  }

  /** The write has happened: nothing that is wrong with the journal now may make it look as if it had not. The next one is stopped. */
  async #complete(id: string, told: Told, after: object | undefined): Promise<void> {
    try {
      await this.#parts.writer.complete(id, { ...told, at: isoTime() }, after);
    } catch {
      this.#parts.call.note({ 'journal-incomplete': true });
    }
  }

  async #told(undo: boolean): Promise<Told> {
    const { appliance, operation, by, call } = this.#parts;
    const { method, path, query, body } = this.#write.request;
    const shown = this.#write.shown ?? body;
    return {
      at: isoTime(),
      appliance,
      'serial-number': (await serialNumber(call)) || null,
      node: by.node ?? null,
      flow: by.flow ?? null,
      actor: by.actor ?? null,
      operation,
      request: this.#mask({ method, path, ...(query && { query }), ...(shown && { body: withoutSecrets(shown) }) }),
      status: null,
      ok: null,
      code: null,
      changed: null,
      diff: null,
      undo,
    };
  }

  /** Masked as everywhere, in the way of a journal. */
  #mask<T>(value: T): T {
    const masked = this.#parts.mask(value);
    const text = JSON.stringify(masked);
    return text.includes(MASK) ? (JSON.parse(text.replaceAll(MASK, SECRET)) as T) : masked;
  }
}

/** What was sent, without its secrets: nothing compares them. */
function sent({ method, body }: Request): Pick<Kept, 'method' | 'body'> {
  return { method, ...(body && { body: withoutSecrets(body) }) };
}

/** What it changed; where what it left could not be read, what it was to change. */
function differences({ path: place, body = {} }: Request, { before, subject }: Found, after: State | undefined): readonly Difference[] {
  if (after) return allOf(compareTrees(mapOf(before), mapOf(after)), before, after);
  const [path = place] = subject.paths;
  const present = before[path];
  if (!present) return [{ path, field: '', before: null, after: withoutSecrets(body) }];
  return compareGiven(path, body, present).diff;
}

/** A secret may have changed although nothing that can be compared did. */
function changes({ body = {} }: Request, diff: readonly Difference[]): boolean {
  return diff.length > 0 || compareGiven('', body, {}).notCompared.length > 0;
}

/** A field is part of its resource: two writes of both are one after the other. */
function placeOf({ method, path, body = {} }: Request): string {
  const place = path.replace(/\/$/, '');
  const [item] = method === 'POST' ? itemPaths(place, body) : [];
  if (item !== undefined) return item;
  const [key, second] = Object.keys(body);
  return key !== undefined && second === undefined && place.endsWith(`/${key}`) ? place.slice(0, place.lastIndexOf('/')) : place;
}

function serialNumber(call: Call): Promise<string> {
  return call.once('serial-number', async () => {
    try {
      const { 'system-information': system } = (await call.read({ method: 'GET', path: SYSTEM }, { lookUp: true })) as {
        'system-information'?: JsonObject;
      };
      const serial = system?.['serial-number'];
      return typeof serial === 'string' ? serial : '';
    } catch (thrown) {
      const { answered, code } = asGatewayError(thrown);
      if (answered === 'FORBIDDEN' || answered === 'NOT_FOUND' || code === 'APPLIANCE_ERROR' || code === 'BAD_RESPONSE') return '';
      throw thrown;
    }
  });
}
