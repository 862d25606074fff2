import { toApplianceHash } from '../../contain/containment-record';
import { isEnforcing, offerSessions } from '../../contain/enforcement-loop';
import { GatewayError } from '../../model/error';
import type { OperationContext } from '../../model/operation';
import { PAGE_SIZE, parseSessionPage, getSessionId, type SessionPage } from './session-page';
import { SessionPages } from './session-pages';
import { SessionIdSet } from './session-id-set';
import type { JsonObject } from '../../model/json';
import { trusted, safeMessage } from '../../model/safe-message';

export interface ListSessionsInput {
  name?: string;
  limit?: number;
  emit?: 'array' | 'page' | 'record';
}

/**
 * All matching sessions, every page followed (appliance-api.md, "Limits"; contract, end of section 5). `start` is the number of
 * records had so far and doubles are dropped, which is right whether the appliance counts from 0 or from 1. Notes `total`,
 * `loginPermission` and `truncated`. Errors: `BAD_RESPONSE` when the list cannot be had whole.
 */
export async function listSessions(input: ListSessionsInput, call: OperationContext): Promise<JsonObject[]> {
  const output = new SessionOutput(input, call);
  const startedAt = performance.now();
  const query = input.name === undefined ? {} : { name: input.name };
  const first = await walkPages(query, call, output);
  // Sessions come and go between two pages: one more try before the list counts as broken.
  const last = first.isComplete && first.isSteady ? first : await walkPages(query, call, output, true);
  if (!last.isComplete) {
    throw new GatewayError(
      'BAD_RESPONSE',
      safeMessage`The appliance counts ${output.total ?? trusted('more')} sessions but listed only ${output.seenIds.size} different ones, twice. Nothing was concluded from the list.`,
      { sent: true },
    );
  }
  const records = output.finish(last.isSteady ? last.seenIds : undefined);
  // Whoever keeps people out need not read the same again.
  if (isFullList(input) && isEnforcing()) offerSessions(toApplianceHash(call.settings.base), records, startedAt);
  return records;
}

function isFullList({ name, limit, emit = 'array' }: ListSessionsInput): boolean {
  return name === undefined && limit === undefined && emit === 'array';
}

/** Returns the number of sessions from the total of the appliance, or from the complete list if there is no total. */
export async function countSessions(call: OperationContext): Promise<number> {
  const request = { method: 'GET' as const, path: '/api/v1/system/active-users', query: { number: '1' } };
  return parseSessionPage(await call.read(request, { isLookup: true })).total ?? (await listSessions({}, call)).length;
}

interface PageWalk {
  /** The distinct sessions of this walk. */
  seenIds: SessionIdSet;
  /** False when it ended with fewer distinct records than the appliance counts. */
  isComplete: boolean;
  /** False when sessions ended meanwhile: the rest moved up, and one may have slipped through between two pages. */
  isSteady: boolean;
}

/** One walk over the pages. */
async function walkPages(query: { name?: string }, call: OperationContext, output: SessionOutput, isSecondWalk = false): Promise<PageWalk> {
  // The first walk has what was seen at all: one look at each id, of which there may be very many.
  const seenIds = isSecondWalk ? new SessionIdSet() : output.seenIds;
  const pages = new SessionPages(query, call);
  /** Set once the second page was the first one again: the appliance ignores `start`, and all are asked for in one. */
  let singlePageSize: number | undefined;
  try {
    for (let index = 0; ; index++) {
      const page = await (singlePageSize === undefined ? pages.next(seenIds.size) : pages.readAll(singlePageSize));
      const { isSteady } = pages;
      const countBefore = seenIds.size;
      const newRecords = output.add(page.records);
      if (isSecondWalk) for (const record of page.records) seenIds.add(getSessionId(record));
      output.total = page.total ?? output.total;
      output.loginPermission = page.loginPermission ?? output.loginPermission;
      const isStuck = seenIds.size === countBefore;
      const isEnded = isLastPage(page, seenIds.size, output.total);
      // Nothing new and as many as there are: the end too, though the appliance still says that more follow.
      const isAllSeen = output.total !== undefined && seenIds.size >= output.total;
      const isWholeList = (isEnded && output.total === undefined) || (isAllSeen && (isEnded || isStuck || singlePageSize !== undefined));
      output.deliver(newRecords, isWholeList && (isSteady || isSecondWalk));
      // Cut at the limit, the second walk is not a list of its own.
      if (output.isFull) return { seenIds, isComplete: true, isSteady: !isSecondWalk };
      if (isWholeList) return { seenIds, isComplete: true, isSteady };
      if (index === 1 && isRepeatedPage(page, seenIds.size - countBefore)) {
        singlePageSize = output.total;
        if (singlePageSize !== undefined) continue;
      }
      // A page that brings nothing new would come again and again.
      if (isEnded || isStuck || singlePageSize !== undefined) return { seenIds, isComplete: false, isSteady };
      pages.prefetch(page, Math.min(page.total ?? 0, output.input.limit ?? Infinity));
    }
  } finally {
    pages.end();
  }
}

/** Whether the second page is the first one, but for those who came or went in between; only at the border may a record come twice. */
function isRepeatedPage({ records }: SessionPage, newCount: number): boolean {
  return newCount * 2 < records.length;
}

function isLastPage(page: SessionPage, seenCount: number, total: number | undefined): boolean {
  if (page.isLast !== undefined) return page.isLast;
  if (total !== undefined) return seenCount >= total;
  return page.records.length < PAGE_SIZE;
}

/** Where records go: an array, or one message a page or a record. */
class SessionOutput {
  readonly seenIds = new SessionIdSet();
  readonly #records: JsonObject[] = [];
  total: number | undefined;
  loginPermission: boolean | undefined;
  sentCount = 0;
  #isTruncated = false;

  constructor(
    readonly input: ListSessionsInput,
    readonly call: OperationContext,
  ) {
    if (input.emit === 'page' || input.emit === 'record') call.startStream();
  }

  /** True once the limit is reached. */
  get isFull(): boolean {
    return this.input.limit !== undefined && this.seenIds.size >= this.input.limit;
  }

  /** Those of the records that were not seen before, up to the limit. */
  add(records: readonly JsonObject[]): JsonObject[] {
    const { limit = Infinity } = this.input;
    const newRecords: JsonObject[] = [];
    for (const record of records) {
      if (this.seenIds.size >= limit) this.#isTruncated ||= !this.seenIds.has(getSessionId(record));
      else if (this.seenIds.add(getSessionId(record))) newRecords.push(record);
    }
    return newRecords;
  }

  /** Sends them out, or keeps them for the array. */
  deliver(newRecords: JsonObject[], isLast: boolean): void {
    const { emit } = this.input;
    if (this.isFull && (!isLast || (this.total ?? 0) > this.seenIds.size)) this.#isTruncated = true;
    this.#noteTotals();
    if (emit === 'page') this.#emitPage(newRecords, isLast || this.isFull);
    else if (emit === 'record') this.#emitRecords(newRecords, isLast || this.isFull);
    else for (const record of newRecords) this.#records.push(record);
  }

  /** All records, or only those of one walk: who is missing there has gone meanwhile. */
  finish(listedIds?: SessionIdSet): JsonObject[] {
    this.#noteTotals();
    return listedIds && listedIds.size < this.seenIds.size
      ? this.#records.filter((record) => listedIds.has(getSessionId(record)))
      : this.#records;
  }

  #noteTotals(): void {
    this.call.addToEnvelope({
      total: this.total ?? this.seenIds.size,
      loginPermission: this.loginPermission ?? null,
      truncated: this.#isTruncated,
    });
  }

  #emitPage(newRecords: JsonObject[], isLast: boolean): void {
    // Nothing to list is one empty page; a page of doubles is none.
    if (newRecords.length === 0 && !(isLast && this.sentCount === 0)) return;
    const index = this.sentCount++;
    this.call.emitPart(newRecords, isLast ? { index, count: this.sentCount } : { index });
  }

  #emitRecords(newRecords: JsonObject[], isLast: boolean): void {
    const expectedCount = this.total === undefined ? undefined : Math.min(this.total, this.input.limit ?? Infinity);
    for (const record of newRecords) {
      const index = this.sentCount++;
      const count = isLast ? this.seenIds.size : expectedCount;
      this.call.emitPart(record, count === undefined ? { index } : { index, count });
    }
  }
}
