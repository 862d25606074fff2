import { UndoStore } from '../journal/undo-store';
import { findJournalEntries, listJournalEntries, parseTime, type EntryWithUndo } from '../journal/read-entries';
import { undoWrite } from '../journal/undo-write';
import { verifyJournal } from '../journal/verify-journal';
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
  subjectField,
  textField,
  type OperationContext,
} from '../model/operation';
import { safeMessage } from '../model/safe-message';

/** Errors: `BAD_CONFIG` for an appliance without a journal. */
function getJournalFolder(call: OperationContext): string {
  const { journal, name } = call.settings;
  if (journal) return journal;
  throw new GatewayError('BAD_CONFIG', safeMessage`The appliance ${name} has no journal. Enter a folder in the appliance node.`, {
    sent: false,
  });
}

function readEntryId(item: string | JsonObject): string {
  const id = isObject(item) ? item['id'] : item;
  if (typeof id === 'string' && id !== '') return id;
  throw badInput('id has to be the id of an entry, an entry, or an array of them.');
}

interface UndoItem {
  readonly id: string;
  readonly found: EntryWithUndo | undefined;
}

/** The newest first, one after the other. */
async function undoAll(entries: string | JsonObject | readonly (string | JsonObject)[], call: OperationContext): Promise<BulkResult> {
  const folder = getJournalFolder(call);
  const ids = [
    ...new Set((Array.isArray(entries) ? (entries as (string | JsonObject)[]) : [entries as string | JsonObject]).map(readEntryId)),
  ];
  const found = await findJournalEntries(folder, ids);
  const order = new Map((await listJournalEntries(folder, { appliance: call.settings.name })).map(({ id }, index) => [id, index]));
  const items = ids.map((id, index): UndoItem => ({ id, found: found[index] }));
  items.sort((one, other) => (order.get(one.id) ?? Infinity) - (order.get(other.id) ?? Infinity));
  const orderedTasks = new OrderedTasks(items);
  const store = new UndoStore(folder);
  const incomplete: FieldLocation[] = [];
  const undoItem = async ({ id, found }: UndoItem, itemCall: OperationContext): Promise<void> => {
    if (!found) throw badInput(safeMessage`There is no entry ${JSON.stringify(id)} in the journal of this appliance.`);
    if (!order.has(id))
      throw badInput(safeMessage`${id} is an entry of the appliance ${JSON.stringify(found.entry.appliance)}: undo it there.`);
    incomplete.push(...(await undoWrite(store, found, itemCall)));
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

/** What was written, by whom, and back again. */
export const journalArea = defineArea({
  name: 'journal',
  label: 'Gateway journal',
  help: 'Shows the journal of an appliance, proves that nobody changed it, and undoes writes.',
  icon: 'gateway-journal.svg',
  color: '#31B9AC',
  operations: {
    list: defineOperation({
      effect: 'read',
      label: 'List entries',
      help: 'The writes that left for this appliance, the newest first. All that is given has to fit.',
      data: 'array of entries',
      fields: {
        since: textField('Since', 'Time from which on, such as `2026-11-20T08:00:00Z`.', { filter: true }),
        until: textField('Until', 'Time up to which.', { filter: true }),
        'operation-name': textField('Operation', 'Full name of the operation, such as `users.disable`.', {
          filter: true,
          example: 'users.disable',
          names: 'operation',
        }),
        actor: textField('Actor', 'Who did it, as `msg.actor` said.', { filter: true, names: 'journal-actor' }),
        limit: numberField('Limit', 'Most entries.', { guard: true, range: 'count' }),
      },
      run: ({ since, until, 'operation-name': operation, actor, limit }, call) =>
        listJournalEntries(getJournalFolder(call), {
          appliance: call.settings.name,
          since: parseTime('since', since),
          until: parseTime('until', until),
          operation,
          actor,
          limit,
        }),
      summary: { found: '__n__ entries of the journal.', 'found-one': '1 entry of the journal.' },
      example: { input: { 'operation-name': 'users.disable' }, request: '' },
    }),
    verify: defineOperation({
      effect: 'read',
      label: 'Verify the journal',
      help: 'Checks every line of every file: what was changed, added or taken out is named with file and line.',
      summary: {
        done: 'The journal is whole. Entries: __entries__, files: __files__.',
        amiss: 'The journal is NOT whole. Places that are not as they were written: __broken__.',
      },
      data: '`{ files, entries, ok, broken }`; `broken` is an array of `{ file, line, why }`',
      fields: {},
      run: (_input, call) => verifyJournal(getJournalFolder(call)),
      example: { input: {}, request: '' },
    }),
    undo: defineOperation({
      effect: 'destroy',
      label: 'Undo writes',
      help: 'Puts back what was there before one or several writes, the newest first, if what is there now is what they left. What cannot come back, such as a password, is named in `msg.envelope.incomplete`.',
      summary: {
        many: 'Undid __ok__ of __total__ writes',
        none: 'There is nothing to undo.',
        planned: 'Would undo what was written by __n__ requests.',
        'planned-one': 'Would undo what was written by one request.',
      },
      data: 'many; `item` is the id',
      fields: {
        id: subjectField(
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
