import { KeptStore } from '../journal/kept';
import { findEntries, listEntries, momentOf, type Found } from '../journal/read';
import { undo } from '../journal/undo';
import { verifyJournal } from '../journal/verify';
import type { Place } from '../change/compare';
import { Turns } from '../change/turns';
import type { Many } from '../model/envelope';
import { badInput, GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { area, number, op, records, required, subject, text, type Call } from '../model/operation';
import { sentence } from '../model/sentence';

/** Errors: `BAD_CONFIG` for an appliance without a journal. */
function folderOf(call: Call): string {
  const { journal, name } = call.settings;
  if (journal) return journal;
  throw new GatewayError('BAD_CONFIG', sentence`The appliance ${name} has no journal. Enter a folder in the appliance node.`, {
    sent: false,
  });
}

function idOf(item: string | JsonObject): string {
  const id = isObject(item) ? item['id'] : item;
  if (typeof id === 'string' && id !== '') return id;
  throw badInput('id has to be the id of an entry, an entry, or an array of them.');
}

interface Item {
  readonly id: string;
  readonly found: Found | undefined;
}

/** The newest first, one after the other. */
async function undoAll(given: string | JsonObject | readonly (string | JsonObject)[], call: Call): Promise<Many> {
  const folder = folderOf(call);
  const ids = [...new Set((Array.isArray(given) ? (given as (string | JsonObject)[]) : [given as string | JsonObject]).map(idOf))];
  const found = await findEntries(folder, ids);
  const order = new Map((await listEntries(folder, { appliance: call.settings.name })).map(({ id }, index) => [id, index]));
  const items = ids.map((id, index): Item => ({ id, found: found[index] }));
  items.sort((one, other) => (order.get(one.id) ?? Infinity) - (order.get(other.id) ?? Infinity));
  const turns = new Turns(items);
  const store = new KeptStore(folder);
  const incomplete: Place[] = [];
  const work = async ({ id, found }: Item, own: Call): Promise<void> => {
    if (!found) throw badInput(sentence`There is no entry ${JSON.stringify(id)} in the journal of this appliance.`);
    if (!order.has(id))
      throw badInput(sentence`${id} is an entry of the appliance ${JSON.stringify(found.entry.appliance)}: undo it there.`);
    incomplete.push(...(await undo(store, found, own)));
  };
  try {
    return await call.eachBy(
      items,
      (item, own) => turns.take(item, () => work(item, own)),
      ({ id }) => id,
    );
  } finally {
    if (incomplete.length > 0) call.note({ incomplete });
  }
}

const entry = '20261121-5f0c1a2b-4711-0a1b2c3d4e5f-17';

/** What was written, by whom, and back again. */
export const journal = area({
  name: 'journal',
  label: 'Gateway journal',
  help: 'Shows the journal of an appliance, proves that nobody changed it, and undoes writes.',
  icon: 'gateway-journal.svg',
  color: '#31B9AC',
  operations: {
    list: op({
      effect: 'read',
      label: 'List entries',
      help: 'The writes that left for this appliance, the newest first. All that is given has to fit.',
      data: 'array of entries',
      fields: {
        since: text('Since', 'Time from which on, such as `2026-11-20T08:00:00Z`.', { filter: true }),
        until: text('Until', 'Time up to which.', { filter: true }),
        'operation-name': text('Operation', 'Full name of the operation, such as `users.disable`.', {
          filter: true,
          example: 'users.disable',
          names: 'operation',
        }),
        actor: text('Actor', 'Who did it, as `msg.actor` said.', { filter: true, names: 'journal-actor' }),
        limit: number('Limit', 'Most entries.', { guard: true, range: 'count' }),
      },
      run: ({ since, until, 'operation-name': operation, actor, limit }, call) =>
        listEntries(folderOf(call), {
          appliance: call.settings.name,
          since: momentOf('since', since),
          until: momentOf('until', until),
          operation,
          actor,
          limit,
        }),
      summary: { found: '__n__ entries of the journal.', 'found-one': '1 entry of the journal.' },
      example: { input: { 'operation-name': 'users.disable' }, request: '' },
    }),
    verify: op({
      effect: 'read',
      label: 'Verify the journal',
      help: 'Checks every line of every file: what was changed, added or taken out is named with file and line.',
      summary: {
        done: 'The journal is whole. Entries: __entries__, files: __files__.',
        amiss: 'The journal is NOT whole. Places that are not as they were written: __broken__.',
      },
      data: '`{ files, entries, ok, broken }`; `broken` is an array of `{ file, line, why }`',
      fields: {},
      run: (_input, call) => verifyJournal(folderOf(call)),
      example: { input: {}, request: '' },
    }),
    undo: op({
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
        id: subject(
          required(records('Entry', 'Id of an entry, an entry, or an array of them.', { example: entry, names: 'journal-entry' })),
        ),
      },
      run: ({ id }, call) => undoAll(id, call),
      example: { input: { id: entry }, request: '' },
    }),
  },
});
