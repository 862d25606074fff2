import { compareWithDesired, compareTrees, SECRET_MASK, maskResourceSecrets, type Difference } from '../change/compare';
import { listStateDifferences, toResourceMap } from '../change/restore-state';
import {
  isConfigurationWrite,
  toItemPaths,
  readStateBefore,
  readStateAfter,
  type StateAfterWrite,
  type StateBeforeWrite,
  type ResourceState,
} from '../change/resource-state';
import { getCurrentIsoTime } from '../model/envelope';
import { asGatewayError } from '../model/error';
import type { RecordSigner } from '../model/record-signer';
import type { OperationContext } from '../model/operation';
import type { Request } from '../model/request';
import { readIdentity } from '../run/identity';
import { isWithoutEffect } from '../run/retry-policy';
import { canWriteHaveNoEffect } from '../run/writes';
import type { WriteInterceptor, PendingWrite } from '../run/pending-write';
import { isObject } from '../model/json';
import { MASK } from '../model/redaction';
import type { UndoData } from './undo-store';
import type { JournalWriter, JournalEntryFields } from './journal-writer';

/** Who started the write. */
export interface Initiator {
  readonly node?: string | undefined;
  readonly flow?: string | undefined;
  readonly actor?: string | undefined;
}

interface RecordingContext {
  readonly writer: JournalWriter;
  readonly signer: RecordSigner | undefined;
  readonly call: OperationContext;
  readonly appliance: string;
  readonly operation: string;
  readonly initiator: Initiator;
  readonly mask: <T>(value: T) => T;
}

/**
 * Records every write: one line is on the disk before the write is sent, the second completes it. For a configuration write, the state is
 * read before and after. Throws `BAD_CONFIG` if the journal cannot be written; then nothing was sent.
 */
export function createWriteRecorder(context: RecordingContext): WriteInterceptor {
  const { call } = context;
  const ids: string[] = [];
  const onAnnounced = (id: string): void => {
    ids.push(id);
    call.addToEnvelope({ journal: ids.length === 1 ? id : ids });
  };
  return (write, next) => {
    let hasWaited = false;
    // A cached read is outdated if this write waited for another one.
    const record = (): Promise<WriteOutcome> => new WriteRecording(context, write, onAnnounced).run(next, !hasWaited);
    if (!isConfigurationWrite(write.request)) return record();
    // The next write of the same resource starts when the result of this one is known.
    return call.runExclusive(`journal ${lockPath(write.request)}`, record, { onWait: () => (hasWaited = true), isBrief: true });
  };
}

type WriteOutcome = Awaited<ReturnType<WriteInterceptor>>;

class WriteRecording {
  readonly #context: RecordingContext;
  readonly #write: PendingWrite;
  readonly #onAnnounced: (id: string) => void;

  constructor(context: RecordingContext, write: PendingWrite, onAnnounced: (id: string) => void) {
    this.#context = context;
    this.#write = write;
    this.#onAnnounced = onAnnounced;
  }

  /** Records a write. `isStateKnown`: earlier reads of this run are still current. */
  async run(next: () => Promise<WriteOutcome>, isStateKnown: boolean): Promise<WriteOutcome> {
    const { writer, call, signer } = this.#context;
    const { request } = this.#write;
    const found = isConfigurationWrite(request) ? await readStateBefore(request, call, isStateKnown) : undefined;
    const isUndoable = found !== undefined && found.subject.paths.length > 0;
    const entryFields = await this.#readEntryFields(isUndoable);
    const id = await writer.announce(
      entryFields,
      isUndoable ? { subject: found.subject, before: found.before, ...toSentRequest(request) } : undefined,
      signer,
    );
    this.#onAnnounced(id);
    let outcome: WriteOutcome;
    try {
      outcome = await next();
    } catch (thrown) {
      const error = asGatewayError(thrown);
      const isUnchanged = isWithoutEffect(error);
      const state = isUndoable && !isUnchanged ? await this.#readAfter(found, false) : undefined;
      const failure = { ok: false, status: error.details.status ?? null, code: error.code, changed: isUnchanged ? false : null };
      await this.#complete(id, entryFields, { undo: isUndoable && !isUnchanged && state !== 'ambiguous', ...failure }, state);
      throw thrown;
    }
    const state = isUndoable ? await this.#readAfter(found, true) : undefined;
    const { status } = outcome;
    if (state === 'ambiguous' || (state && request.method !== 'DELETE' && isEmptyState(found?.before) && isEmptyState(state.after))) {
      // Nobody knows under which name the appliance filed the new resource.
      await this.#complete(id, entryFields, { status, ok: true, undo: false, changed: null }, undefined);
      return outcome;
    }
    const diff = found ? this.#computeDiff(found, state?.after) : null;
    const changed = diff ? hasChanges(request, diff) : canWriteHaveNoEffect(this.#write) ? null : true;
    await this.#complete(id, entryFields, { status, ok: true, changed, diff }, state);
    // Without the later state, the difference is only the intended one.
    return changed === null || !state ? outcome : { ...outcome, changed };
  }

  #computeDiff(found: StateBeforeWrite, after: ResourceState | undefined): readonly Difference[] | null {
    try {
      return this.#mask(computeDifferences(this.#write.request, found, after));
    } catch {
      // The resource is nested too deep to compare, but it was written.
      return null;
    }
  }

  /** Reads the state after the write; undefined if it cannot be read. Then an undo compares with the sent body. */
  async #readAfter(baseline: StateBeforeWrite, isSuccess: boolean): Promise<StateAfterWrite | 'ambiguous' | undefined> {
    const { method, body = {} } = this.#write.request;
    if (isSuccess && method === 'DELETE') return { subject: baseline.subject, after: {} };
    try {
      return (await readStateAfter(baseline, body, this.#context.call)) ?? 'ambiguous';
    } catch {
      return undefined;
    }
  }

  /** Completes the entry. The write has already happened, so a journal fault does not make it fail; the fault blocks the next write. */
  async #complete(
    id: string,
    announced: JournalEntryFields,
    outcome: Partial<JournalEntryFields>,
    state: StateAfterWrite | 'ambiguous' | undefined,
  ): Promise<void> {
    const undoData = typeof state === 'object' ? state : undefined;
    try {
      const { writer, signer } = this.#context;
      // An object spread would give each line its own hidden class.
      const fields = Object.assign({}, announced, outcome, { at: getCurrentIsoTime() });
      await writer.complete(id, fields, undoData, signer);
    } catch {
      this.#context.call.addToEnvelope({ 'journal-incomplete': true });
    }
  }

  async #readEntryFields(isUndoable: boolean): Promise<JournalEntryFields> {
    const { appliance, operation, initiator, call } = this.#context;
    const { method, path, query, body } = this.#write.request;
    const displayedBody = this.#write.plannedBody ?? body;
    return {
      at: getCurrentIsoTime(),
      appliance,
      'serial-number': (await readSerialNumber(call)) || null,
      node: initiator.node ?? null,
      flow: initiator.flow ?? null,
      actor: initiator.actor ?? null,
      operation,
      ...(call.settings.isRehearsal && { rehearsal: true }),
      ...this.#readPerson(),
      request: this.#mask({ method, path, ...(query && { query }), ...(displayedBody && { body: maskResourceSecrets(displayedBody) }) }),
      status: null,
      ok: null,
      code: null,
      changed: null,
      diff: null,
      undo: isUndoable,
    };
  }

  #readPerson(): { person?: string } {
    const item = this.#write.describeItem?.();
    const person = isObject(item) ? item['active-user-name'] : undefined;
    return typeof person === 'string' ? { person: this.#mask(person) } : {};
  }

  /** Masks secrets with the mark that the journal uses. */
  #mask<T>(value: T): T {
    const masked = this.#context.mask(value);
    const text = JSON.stringify(masked);
    return text.includes(MASK) ? (JSON.parse(text.replaceAll(MASK, SECRET_MASK)) as T) : masked;
  }
}

function isEmptyState(state: ResourceState = {}): boolean {
  return Object.keys(state).length === 0;
}

/** Returns the request without its secrets, which are never compared. */
function toSentRequest({ method, body }: Request): Pick<UndoData, 'method' | 'body'> {
  return { method, ...(body && { body: maskResourceSecrets(body) }) };
}

/** Returns the changes; if the later state could not be read, the intended changes. */
function computeDifferences(
  { path: resourcePath, body = {} }: Request,
  { before, subject }: StateBeforeWrite,
  after: ResourceState | undefined,
): readonly Difference[] {
  if (after) return listStateDifferences(compareTrees(toResourceMap(before), toResourceMap(after)), before, after);
  const [path = resourcePath] = subject.paths;
  const present = before[path];
  if (!present) return [{ path, field: '', before: null, after: maskResourceSecrets(body) }];
  return compareWithDesired(path, body, present).diff;
}

/** Returns whether something changed. A written secret counts, because it cannot be compared. */
function hasChanges({ body = {} }: Request, diff: readonly Difference[]): boolean {
  return diff.length > 0 || compareWithDesired('', body, {}).notCompared.length > 0;
}

/** Returns the path to lock. A field shares the lock of its resource. */
function lockPath({ method, path, body = {} }: Request): string {
  const resourcePath = path.replace(/\/$/, '');
  const [item] = method === 'POST' ? toItemPaths(resourcePath, body) : [];
  if (item !== undefined) return item;
  const [key, second] = Object.keys(body);
  return key !== undefined && second === undefined && resourcePath.endsWith(`/${key}`)
    ? resourcePath.slice(0, resourcePath.lastIndexOf('/'))
    : resourcePath;
}

function readSerialNumber(call: OperationContext): Promise<string> {
  return call.memoize('serial-number', async () => {
    try {
      return (await readIdentity(call))['serial-number'] ?? '';
    } catch (thrown) {
      const { requestCode, code } = asGatewayError(thrown);
      if (requestCode === 'FORBIDDEN' || requestCode === 'NOT_FOUND' || code === 'APPLIANCE_ERROR' || code === 'BAD_RESPONSE') return '';
      throw thrown;
    }
  });
}
