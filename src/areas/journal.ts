import { UndoStore } from '../journal/undo-store';
import { findJournalEntries, listJournalEntries, parseTimeField, type JournalEntryWithUndo } from '../journal/read-entries';
import { undoJournalEntry } from '../journal/undo-write';
import type { JournalVerificationContext } from '../journal/journal-line';
import { verifyJournal, type JournalVerification } from '../journal/verify-journal';
import type { FieldLocation } from '../change/compare';
import { OrderedTasks } from '../change/ordered-tasks';
import type { BulkResult } from '../model/envelope';
import { badInput, GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import {
  defineArea,
  numberField,
  defineOperation,
  recordsField,
  requiredField,
  payloadField,
  textField,
  type OperationContext,
} from '../model/operation';
import { safeMessage, trusted } from '../model/safe-message';

/** Returns the journal folder of the appliance. Errors: `BAD_CONFIG` for an appliance without a journal. */
function getJournalFolder(call: OperationContext): string {
  const { journal, name } = call.settings;
  if (journal) return journal;
  throw new GatewayError('BAD_CONFIG', safeMessage`The appliance ${name} has no journal. Enter a folder in the appliance node.`, {
    sent: false,
    statusReason: 'journal-missing',
  });
}

/** Lines of this appliance need a valid code if it has a signing key. */
function toLineOwner({ settings: { name, signer } }: OperationContext): JournalVerificationContext {
  return { appliance: name, signer };
}

function verify(call: OperationContext): Promise<JournalVerification> {
  return verifyJournal(getJournalFolder(call), toLineOwner(call), call.settings.stateFolder);
}

/** Refuses to undo from a journal that somebody changed. A missing file, such as an archived one, is accepted. */
async function assertIntact(call: OperationContext): Promise<void> {
  const broken = (await verify(call)).broken.find(({ line }) => line > 0);
  if (!broken) return;
  const message = safeMessage`The journal is not intact, so nothing was undone: line ${broken.line} of ${broken.file}: ${trusted(broken.why)}.`;
  throw new GatewayError('BAD_CONFIG', message, { sent: false });
}

function readEntryId(item: string | JsonObject): string {
  const id = isObject(item) ? item['id'] : item;
  if (typeof id === 'string' && id !== '') return id;
  throw badInput('id must be the id of an entry, an entry, or an array of them. Nothing was sent.');
}

interface UndoItem {
  readonly id: string;
  readonly entryWithUndo: JournalEntryWithUndo | undefined;
}

/** Undoes writes one after the other, the newest first, because an earlier write can depend on a later undo. */
async function undoAll(entries: string | JsonObject | readonly (string | JsonObject)[], call: OperationContext): Promise<BulkResult> {
  const folder = getJournalFolder(call);
  const ids = [
    ...new Set((Array.isArray(entries) ? (entries as (string | JsonObject)[]) : [entries as string | JsonObject]).map(readEntryId)),
  ];
  await assertIntact(call);
  const foundEntries = await findJournalEntries(folder, ids, toLineOwner(call));
  const order = new Map((await listJournalEntries(folder, toLineOwner(call))).map(({ id }, index) => [id, index]));
  const items = ids.map((id, index): UndoItem => ({ id, entryWithUndo: foundEntries[index] }));
  items.sort((a, b) => (order.get(a.id) ?? Infinity) - (order.get(b.id) ?? Infinity));
  const orderedTasks = new OrderedTasks(items);
  const store = new UndoStore(folder);
  const incomplete: FieldLocation[] = [];
  const undoItem = async ({ id, entryWithUndo }: UndoItem, itemCall: OperationContext): Promise<void> => {
    if (!entryWithUndo)
      throw badInput(safeMessage`There is no entry ${JSON.stringify(id)} in the journal of this appliance. Nothing was sent.`);
    if (!order.has(id))
      throw badInput(safeMessage`${id} is an entry of the appliance ${JSON.stringify(entryWithUndo.entry.appliance)}: undo it there.`);
    incomplete.push(...(await undoJournalEntry(store, entryWithUndo, itemCall)));
  };
  try {
    return await call.runEach(
      items,
      (item, itemCall) => orderedTasks.run(item, () => undoItem(item, itemCall)),
      ({ id }) => id,
    );
  } finally {
    if (incomplete.length > 0) call.addToEnvelope({ incomplete });
  }
}

const exampleEntryId = '20261121-5f0c1a2b-4711-0a1b2c3d4e5f-17';

/** Lists, verifies and undoes journal entries. */
export const journalArea = defineArea({
  name: 'journal',
  label: 'Gateway journal',
  help: 'Shows the journal of an appliance, proves that nobody changed it, and undoes writes.',
  icon: 'gateway-journal.svg',
  color: '#31B9AC',
  operations: {
    list: defineOperation({
      effect: 'read',
      permissions: { reads: 'nothing: only the folder' },
      label: 'List entries',
      help: 'Lists the writes that were sent to this appliance, the newest first. An entry must match all given fields.',
      data: 'array of entries',
      fields: {
        since: textField('Since', 'Start time, such as `2026-11-20T08:00:00Z`.', { filter: true }),
        until: textField('Until', 'End time.', { filter: true }),
        'operation-name': textField('Operation', 'Full name of the operation, such as `users.disable`.', {
          filter: true,
          example: 'users.disable',
          names: 'operation',
        }),
        actor: textField('Actor', 'Who sent the write, from `msg.actor`.', { filter: true, names: 'journal-actor' }),
        limit: numberField('Limit', 'Maximum number of entries.', { guard: true, range: 'count' }),
      },
      run: ({ since, until, 'operation-name': operation, actor, limit }, call) =>
        listJournalEntries(getJournalFolder(call), {
          ...toLineOwner(call),
          since: parseTimeField('since', since),
          until: parseTimeField('until', until),
          operation,
          actor,
          limit,
        }),
      summary: { found: '__n__ entries of the journal.', 'found-one': '1 entry of the journal.' },
      example: { input: { 'operation-name': 'users.disable' }, request: '' },
    }),
    verify: defineOperation({
      effect: 'read',
      permissions: { reads: 'nothing: only the folder' },
      label: 'Verify the journal',
      help: 'Checks every line of every file, and names changed, added and removed lines with file and line.',
      summary: {
        done: 'The journal is intact. Entries: __entries__, files: __files__.',
        amiss: 'The journal is NOT intact. Damaged places: __broken__.',
      },
      data: '`{ files, entries, ok, broken }`; `broken` is an array of `{ file, line, why }`',
      fields: {},
      run: (_input, call) => verify(call),
      example: { input: {}, request: '' },
    }),
    undo: defineOperation({
      effect: 'destroy',
      permissions: { reads: 'the paths that were written', writes: 'the same' },
      label: 'Undo writes',
      help: 'Restores the state before one or several writes, the newest first, if nothing else has changed it since. `msg.envelope.incomplete` names what cannot be restored, such as a password.',
      summary: {
        many: 'Undid __ok__ of __total__ writes',
        none: 'There is nothing to undo.',
        planned: 'Would undo writes with __n__ requests.',
        'planned-one': 'Would undo writes with one request.',
      },
      data: 'a result for each item; `item` is the id',
      fields: {
        id: payloadField(
          requiredField(
            recordsField('Entry', 'Id of an entry, an entry, or an array of them.', { example: exampleEntryId, names: 'journal-entry' }),
          ),
        ),
      },
      run: ({ id }, call) => undoAll(id, call),
      example: { input: { id: exampleEntryId }, request: '' },
    }),
  },
});
