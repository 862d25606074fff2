import { hashApplianceAddress } from '../../contain/containment-record';
import { isEnforcementRunning, offerSessionsToEnforcement } from '../../contain/enforcement-loop';
import { GatewayError } from '../../model/error';
import type { OperationContext } from '../../model/operation';
import { SESSIONS_PER_PAGE, parseSessionPage, getSessionId, type SessionPage } from './session-page';
import { SESSION_PAGE_OVERLAP, SessionPages } from './session-pages';
import { SessionIdSet } from './session-id-set';
import type { SessionRecord } from './session-record';
import { trusted, safeMessage } from '../../model/safe-message';

interface ListSessionsInput {
  name?: string;
  limit?: number;
  emit?: 'array' | 'page' | 'record';
}

/** Maximum number of attempts when a quiet list has fewer records than its total. */
const MAX_WALKS = 2;
/** When two pages have a gap, the reader goes back this many records; the distance doubles each time. */
const GAP_STEP = SESSIONS_PER_PAGE / 2;
/** Requests that reading the list may need in addition to twice its pages. */
const EXTRA_REQUESTS = 20;

/**
 * Lists all matching sessions from all pages (appliance-api.md, "Limits"; contract, end of section 5). The list contains every session
 * that exists from the first to the last request, also while others start and end. It puts `total`, `loginPermission` and `truncated`
 * into the envelope. Errors: `BAD_RESPONSE` when the list is incomplete or changes too fast.
 */
export async function listSessions(input: ListSessionsInput, call: OperationContext): Promise<SessionRecord[]> {
  const output = new SessionOutput(input, call);
  const startedAt = performance.now();
  const query = input.name === undefined ? {} : { name: input.name };
  for (let attempt = 1; attempt <= MAX_WALKS; attempt++) {
    const walk = new PageWalk(query, call, output, attempt);
    if (!(await walk.run())) continue;
    const records = output.finish(walk.listedIds);
    // The enforcement loop uses the list instead of reading it again.
    if (isFullList(input) && isEnforcementRunning())
      offerSessionsToEnforcement(hashApplianceAddress(call.settings.base), records, startedAt);
    return records;
  }
  throw new GatewayError(
    'BAD_RESPONSE',
    safeMessage`The appliance reports ${output.total ?? trusted('more')} sessions but listed only ${output.seenIds.size} different ones in ${MAX_WALKS} attempts. The list was discarded.`,
    { sent: true },
  );
}

function isFullList({ name, limit, emit = 'array' }: ListSessionsInput): boolean {
  return name === undefined && limit === undefined && emit === 'array';
}

/** Returns the number of sessions from the total of the appliance, or from the complete list if there is no total. */
export async function countSessions(call: OperationContext): Promise<number> {
  const request = { method: 'GET' as const, path: '/api/v1/system/active-users', query: { number: '1' } };
  return parseSessionPage(await call.read(request, { isLookup: true })).total ?? (await listSessions({}, call)).length;
}

/**
 * One walk over the pages. A page joins the pages before it if it contains one of their records: everything up to that record was
 * read before, and everything after it follows in the page. This holds while sessions start and end, as long as the appliance keeps
 * the order of the others. The walk reads the list around a gap again until the pages join.
 */
class PageWalk {
  /** Ids of the list, needed if the output has records of other attempts or pages too. */
  listedIds: SessionIdSet | undefined;
  /** Ids of all sessions in the joined pages. */
  readonly #seenIds: SessionIdSet;
  readonly #pages: SessionPages;
  readonly #output: SessionOutput;
  readonly #isFirst: boolean;
  /** Ids from the first half of the first page, which a later page contains only if the appliance ignores `start`. */
  #headIds = new Set<string>();
  /** Whether no session has started or ended so far, as totals and overlaps show. */
  #isQuiet = true;
  #firstTotal: number | undefined;
  #gapCount = 0;
  #joinedCount = 0;

  constructor(query: { name?: string }, call: OperationContext, output: SessionOutput, attempt: number) {
    this.#isFirst = attempt === 1;
    // The first walk shares the set of the output, because a large list has many ids.
    this.#seenIds = this.#isFirst ? output.seenIds : new SessionIdSet();
    if (!this.#isFirst) this.listedIds = this.#seenIds;
    this.#output = output;
    this.#pages = new SessionPages(query, call);
  }

  /** Returns whether the list is complete. */
  async run(): Promise<boolean> {
    try {
      return await this.#walk();
    } finally {
      this.#pages.end();
    }
  }

  async #walk(): Promise<boolean> {
    let start = 0;
    let gapDistance = GAP_STEP;
    for (let index = 0; ; index++) {
      const page = await this.#pages.read(start);
      this.#noteTotals(page);
      this.#assertRequestLimit(start);
      if (index === 1 && this.#startsWithHead(page)) return this.#readAll();
      if (start > 0 && !this.#joins(page, start)) {
        this.#isQuiet = false;
        this.#gapCount++;
        if (page.records.length > 0) this.#pages.keep(start, page);
        start = Math.max(0, start - gapDistance);
        gapDistance *= 2;
        continue;
      }
      gapDistance = GAP_STEP;
      this.#joinedCount++;
      if (index === 0) this.#headIds = new Set(page.records.slice(0, SESSIONS_PER_PAGE / 2).map(getSessionId));
      const newRecords = this.#add(page, start);
      const isEnded = this.#isEnd(page, start, newRecords.walkCount);
      const isComplete = isEnded && this.#hasAll(page, start);
      this.#output.deliver(newRecords.records, isComplete);
      // A list that ends at its limit is complete for its caller.
      if (this.#output.isFull || isComplete) return true;
      if (isEnded || (newRecords.walkCount === 0 && this.#output.total === undefined)) return false;
      if (page.records.length === SESSIONS_PER_PAGE && index > 0)
        this.#pages.prefetch(start, Math.min(page.total ?? 0, this.#output.input.limit ?? Infinity));
      start = this.#pages.nextStart(start, page.records.length);
    }
  }

  /** Reads the whole list with one request, because the appliance ignores `start`. */
  async #readAll(): Promise<boolean> {
    let count = this.#output.total;
    while (count !== undefined) {
      const page = await this.#pages.readAll(count);
      this.#noteTotals(page);
      this.#assertRequestLimit(0);
      const isComplete = page.records.length >= (page.total ?? count);
      // Sessions that started since the total was read need a larger request; a clipped page stays incomplete.
      if (!isComplete && page.records.length === count && page.total !== undefined) count = page.total + SESSIONS_PER_PAGE;
      else count = undefined;
      if (count !== undefined) continue;
      const { records } = this.#add(page, 0);
      this.listedIds = new SessionIdSet();
      for (const record of page.records) this.listedIds.add(getSessionId(record));
      this.#output.deliver(records, isComplete);
      return isComplete || this.#output.isFull;
    }
    return false;
  }

  #noteTotals(page: SessionPage): void {
    this.#output.total = page.total ?? this.#output.total;
    this.#output.loginPermission = page.loginPermission ?? this.#output.loginPermission;
    this.#firstTotal ??= page.total;
    if (page.total !== this.#firstTotal) this.#isQuiet = false;
  }

  /** Errors: `BAD_RESPONSE` after twice the requests of a quiet list and some more, or too many gaps for the pages that joined. */
  #assertRequestLimit(start: number): void {
    const { total } = this.#output;
    const maxRequests = total === undefined ? Infinity : 2 * Math.ceil(total / (SESSIONS_PER_PAGE - SESSION_PAGE_OVERLAP)) + EXTRA_REQUESTS;
    if (this.#pages.requestCount <= maxRequests && this.#gapCount <= this.#joinedCount + EXTRA_REQUESTS) return;
    throw new GatewayError(
      'BAD_RESPONSE',
      safeMessage`The pages of the session list do not join around record ${start} of ${total ?? trusted('an unknown number')}, after ${this.#pages.requestCount} requests. The list changes too fast, or the appliance returns wrong pages. The list was discarded. Try again later, or narrow the list by name.`,
      { sent: true },
    );
  }

  #startsWithHead(page: SessionPage): boolean {
    return page.records.slice(0, 10).some((record) => this.#headIds.has(getSessionId(record)));
  }

  #joins(page: SessionPage, start: number): boolean {
    // Such a page reaches beyond the end of the list, so it is not the requested one.
    if (page.isLast !== true && page.total !== undefined && start + page.records.length > page.total + 1) return false;
    return page.records.some((record) => this.#seenIds.has(getSessionId(record)));
  }

  #add(page: SessionPage, start: number): { records: SessionRecord[]; walkCount: number } {
    const countBefore = this.#seenIds.size;
    const records = this.#output.add(page.records);
    if (!this.#isFirst) for (const record of page.records) this.#seenIds.add(getSessionId(record));
    const walkCount = this.#seenIds.size - countBefore;
    // An appliance that counts from 1 repeats one more record on the second page.
    const overlap = page.records.length - walkCount;
    if (start > 0 && overlap > SESSION_PAGE_OVERLAP + 1) this.#isQuiet = false;
    return { records, walkCount };
  }

  #isEnd(page: SessionPage, start: number, newCount: number): boolean {
    if (page.isLast === true) return true;
    const { total } = page;
    if (total === undefined) return page.isLast === undefined && page.records.length < SESSIONS_PER_PAGE;
    const end = start + page.records.length;
    // Some releases never report the last page; then the end is a page without anything new.
    if (newCount === 0 && end >= total) return true;
    if (page.isLast === false) return false;
    // An appliance that counts from 1 may still have one record after `end`.
    return end > total || (this.#isQuiet && this.#seenIds.size >= total) || (start === 0 && end >= total);
  }

  /** Whether the end of the list agrees with its total. */
  #hasAll(page: SessionPage, start: number): boolean {
    const { total } = this.#output;
    if (total === undefined) return true;
    if (this.#isQuiet) return this.#seenIds.size >= total;
    return start + page.records.length >= total;
  }
}

/** Collects records for an array, or sends one message per page or record. */
class SessionOutput {
  readonly seenIds = new SessionIdSet();
  readonly #records: SessionRecord[] = [];
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

  /** Whether the limit of records is reached. */
  get isFull(): boolean {
    return this.input.limit !== undefined && this.seenIds.size >= this.input.limit;
  }

  /** Returns the new records, up to the limit. */
  add(records: readonly SessionRecord[]): SessionRecord[] {
    const { limit = Infinity } = this.input;
    const newRecords: SessionRecord[] = [];
    for (const record of records) {
      if (this.seenIds.size >= limit) this.#isTruncated ||= !this.seenIds.has(getSessionId(record));
      else if (this.seenIds.add(getSessionId(record))) newRecords.push(record);
    }
    return newRecords;
  }

  /** Sends the records, or collects them for the array. */
  deliver(newRecords: SessionRecord[], isLast: boolean): void {
    const { emit } = this.input;
    if (this.isFull && (!isLast || (this.total ?? 0) > this.seenIds.size)) this.#isTruncated = true;
    this.#noteTotals();
    if (emit === 'page') this.#emitPage(newRecords, isLast || this.isFull);
    else if (emit === 'record') this.#emitRecords(newRecords, isLast || this.isFull);
    else for (const record of newRecords) this.#records.push(record);
  }

  /** Returns all records, or only those with the listed ids. */
  finish(listedIds?: SessionIdSet): SessionRecord[] {
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

  #emitPage(newRecords: SessionRecord[], isLast: boolean): void {
    // An empty list is one empty page; a page with only duplicates is not sent.
    if (newRecords.length === 0 && !(isLast && this.sentCount === 0)) return;
    const index = this.sentCount++;
    this.call.emitPart(newRecords, isLast ? { index, count: this.sentCount } : { index });
  }

  #emitRecords(newRecords: SessionRecord[], isLast: boolean): void {
    const expectedCount = this.total === undefined ? undefined : Math.min(this.total, this.input.limit ?? Infinity);
    for (const record of newRecords) {
      const index = this.sentCount++;
      const count = isLast ? this.seenIds.size : expectedCount;
      this.call.emitPart(record, count === undefined ? { index } : { index, count });
    }
  }
}
