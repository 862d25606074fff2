import { applianceOf } from '../../contain/appliance';
import { isKept, offerSessions } from '../../contain/keeper';
import { GatewayError } from '../../model/error';
import type { Call } from '../../model/operation';
import { PAGE, pageOf, sessionId, type Page } from './page';
import { Pages } from './pages';
import { SeenIds } from './seen';
import type { JsonObject } from '../../model/json';
import { ours, sentence } from '../../model/sentence';

export interface ListInput {
  name?: string;
  limit?: number;
  emit?: 'array' | 'page' | 'record';
}

/**
 * All matching sessions, every page followed (appliance-api.md, "Limits"; contract, end of section 5). `start` is the number of
 * records had so far and doubles are dropped, which is right whether the appliance counts from 0 or from 1. Notes `total`,
 * `loginPermission` and `truncated`. Errors: `BAD_RESPONSE` when the list cannot be had whole.
 */
export async function listSessions(input: ListInput, call: Call): Promise<JsonObject[]> {
  const out = new Outlet(input, call);
  const began = performance.now();
  const query = input.name === undefined ? {} : { name: input.name };
  const first = await walk(query, call, out);
  // Sessions come and go between two pages: one more try before the list counts as broken.
  const last = first.complete && first.steady ? first : await walk(query, call, out, true);
  if (!last.complete) {
    throw new GatewayError(
      'BAD_RESPONSE',
      sentence`The appliance counts ${out.total ?? ours('more')} sessions but listed only ${out.seen.size} different ones, twice. Nothing was concluded from the list.`,
      { sent: true },
    );
  }
  const records = out.finish(last.steady ? last.had : undefined);
  // Whoever keeps people out need not read the same again.
  if (isWhole(input) && isKept()) offerSessions(applianceOf(call.settings.base), records, began);
  return records;
}

function isWhole({ name, limit, emit = 'array' }: ListInput): boolean {
  return name === undefined && limit === undefined && emit === 'array';
}

/** How many sessions there are: asked for, or counted where the appliance does not tell. */
export async function countSessions(call: Call): Promise<number> {
  const request = { method: 'GET' as const, path: '/api/v1/system/active-users', query: { number: '1' } };
  return pageOf(await call.read(request, { lookUp: true })).total ?? (await listSessions({}, call)).length;
}

interface Walk {
  /** The distinct sessions of this walk. */
  had: SeenIds;
  /** False when it ended with fewer distinct records than the appliance counts. */
  complete: boolean;
  /** False when sessions ended meanwhile: the rest moved up, and one may have slipped through between two pages. */
  steady: boolean;
}

/** One walk over the pages. */
async function walk(query: { name?: string }, call: Call, out: Outlet, again = false): Promise<Walk> {
  // The first walk has what was seen at all: one look at each id, of which there may be very many.
  const had = again ? new SeenIds() : out.seen;
  const pages = new Pages(query, call);
  /** Set once the second page was the first one again: the appliance ignores `start`, and all are asked for in one. */
  let inOne: number | undefined;
  try {
    for (let index = 0; ; index++) {
      const page = await (inOne === undefined ? pages.next(had.size) : pages.whole(inOne));
      const { steady } = pages;
      const before = had.size;
      const fresh = out.add(page.records);
      if (again) for (const record of page.records) had.add(sessionId(record));
      out.total = page.total ?? out.total;
      out.loginPermission = page.loginPermission ?? out.loginPermission;
      const stuck = had.size === before;
      const ended = isEnd(page, had.size, out.total);
      // Nothing new and as many as there are: the end too, though the appliance still says that more follow.
      const all = out.total !== undefined && had.size >= out.total;
      const whole = (ended && out.total === undefined) || (all && (ended || stuck || inOne !== undefined));
      out.give(fresh, whole && (steady || again));
      // Cut at the limit, the second walk is not a list of its own.
      if (out.full) return { had, complete: true, steady: !again };
      if (whole) return { had, complete: true, steady };
      if (index === 1 && isAgain(page, had.size - before)) {
        inOne = out.total;
        if (inOne !== undefined) continue;
      }
      // A page that brings nothing new would come again and again.
      if (ended || stuck || inOne !== undefined) return { had, complete: false, steady };
      pages.fetchAhead(page, Math.min(page.total ?? 0, out.input.limit ?? Infinity));
    }
  } finally {
    pages.end();
  }
}

/** Whether the second page is the first one, but for those who came or went in between; only at the border may a record come twice. */
function isAgain({ records }: Page, fresh: number): boolean {
  return fresh * 2 < records.length;
}

function isEnd(page: Page, had: number, total: number | undefined): boolean {
  if (page.last !== undefined) return page.last;
  if (total !== undefined) return had >= total;
  return page.records.length < PAGE;
}

/** Where records go: an array, or one message a page or a record. */
class Outlet {
  readonly seen = new SeenIds();
  readonly #records: JsonObject[] = [];
  total: number | undefined;
  loginPermission: boolean | undefined;
  sent = 0;
  #cut = false;

  constructor(
    readonly input: ListInput,
    readonly call: Call,
  ) {
    if (input.emit === 'page' || input.emit === 'record') call.stream();
  }

  /** True once the limit is reached. */
  get full(): boolean {
    return this.input.limit !== undefined && this.seen.size >= this.input.limit;
  }

  /** Those of the records that were not seen before, up to the limit. */
  add(records: readonly JsonObject[]): JsonObject[] {
    const { limit = Infinity } = this.input;
    const fresh: JsonObject[] = [];
    for (const record of records) {
      if (this.seen.size >= limit) this.#cut ||= !this.seen.has(sessionId(record));
      else if (this.seen.add(sessionId(record))) fresh.push(record);
    }
    return fresh;
  }

  /** Sends them out, or keeps them for the array. */
  give(fresh: JsonObject[], last: boolean): void {
    const { emit } = this.input;
    if (this.full && (!last || (this.total ?? 0) > this.seen.size)) this.#cut = true;
    this.#note();
    if (emit === 'page') this.#emitPage(fresh, last || this.full);
    else if (emit === 'record') this.#emitRecords(fresh, last || this.full);
    else for (const record of fresh) this.#records.push(record);
  }

  /** All records, or only those of one walk: who is missing there has gone meanwhile. */
  finish(only?: SeenIds): JsonObject[] {
    this.#note();
    return only && only.size < this.seen.size ? this.#records.filter((record) => only.has(sessionId(record))) : this.#records;
  }

  #note(): void {
    this.call.note({ total: this.total ?? this.seen.size, loginPermission: this.loginPermission ?? null, truncated: this.#cut });
  }

  #emitPage(fresh: JsonObject[], last: boolean): void {
    // Nothing to list is one empty page; a page of doubles is none.
    if (fresh.length === 0 && !(last && this.sent === 0)) return;
    const index = this.sent++;
    this.call.emit(fresh, last ? { index, count: this.sent } : { index });
  }

  #emitRecords(fresh: JsonObject[], last: boolean): void {
    const expected = this.total === undefined ? undefined : Math.min(this.total, this.input.limit ?? Infinity);
    for (const record of fresh) {
      const index = this.sent++;
      const count = last ? this.seen.size : expected;
      this.call.emit(record, count === undefined ? { index } : { index, count });
    }
  }
}
