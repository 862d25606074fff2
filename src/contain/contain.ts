import { randomUUID } from 'node:crypto';
import { asGatewayError, badInput, GatewayError } from '../model/error';
import { inParallel } from '../model/in-parallel';
import type { JsonObject } from '../model/json';
import { sentence } from '../model/sentence';
import type { Hands } from './hands';
import { isOver, whoOf, type Account, type Contained } from './record';
import { allKept, placesOf, type Kept, type Store } from './store';

/** Ended at once; more would be as many as there are connections for everything else. */
const AT_ONCE = 8;

export interface Wanted {
  readonly name?: string;
  readonly 'source-ip'?: string;
  readonly servers: readonly string[];
  readonly minutes: number;
  readonly folder?: string | undefined;
  /** Most people at once. */
  readonly max: number;
}

/** What `contain` gives. */
export interface Containment {
  readonly id: string | null;
  readonly name?: string;
  readonly 'source-ip'?: string;
  readonly disabled: readonly string[];
  readonly ended: readonly JsonObject[];
  readonly until: string;
}

/**
 * Keeps somebody out: disables the local accounts that are enabled, ends the sessions, and remembers it, so that what comes later is
 * ended too. Whoever is contained already stays so under the same id, until the later end. What fails once it is written down is
 * tried again by the keeper, and told. Errors: `LIMIT` for more than `max`, `NOT_FOUND` for a server; nothing was done then.
 */
export async function contain(wanted: Wanted, hands: Hands): Promise<Containment> {
  const store = placesOf(hands.appliance).of(wanted.folder);
  let fault: GatewayError | undefined;
  const record = await hands.exclusive(async () => {
    const kept = await begun(wanted, hands, store);
    // A plan shows what would be written.
    if (!hands.planned) await kept.store.put(kept.record);
    const done = await disableWanted(kept, hands);
    fault = done.fault;
    return done.record;
  });
  const found = await endAll(record, hands);
  fault ??= found.fault;
  if (fault) throw stillContained(fault, record);
  const disabled = record.accounts.map(({ server }) => server);
  const { id, until } = record;
  return { id: hands.planned ? null : id, ...whom(record), disabled, ended: found.ended.map((session) => hands.shown(session)), until };
}

/** The record that keeps them out from now on; nothing is written yet. */
async function begun(wanted: Wanted, hands: Hands, store: Store): Promise<Kept> {
  const who = whom(wanted);
  const all = await allKept(hands.appliance);
  const present = all.find(({ record }) => record.name === who.name && record['source-ip'] === who['source-ip']);
  const others = all.filter((kept) => kept !== present && !isOver(kept.record)).length;
  if (others >= wanted.max) {
    throw new GatewayError(
      'LIMIT',
      sentence`${others} are contained already, and at most ${wanted.max} may be: nothing was done. Release somebody, or raise max (Most people).`,
      { sent: false },
    );
  }
  const known = present?.record.accounts ?? [];
  const fresh: Account[] = [];
  for (const server of new Set(wanted.servers)) {
    if (known.some((account) => account.server === server)) continue;
    if (await hands.isEnabled(server, whoOf(who))) fresh.push({ server, state: 'wanted' });
  }
  const now = new Date();
  const until = new Date(now.getTime() + wanted.minutes * 60_000);
  const accounts = [...known, ...fresh];
  if (!present) {
    const { appliance } = hands;
    const record = { id: randomUUID(), appliance, ...who, accounts, ended: 0, since: now.toISOString(), until: until.toISOString() };
    return { record: { ...record, releasing: false }, store };
  }
  const later = isOver(present.record) || until.getTime() > Date.parse(present.record.until);
  return {
    store: present.store,
    record: { ...present.record, accounts, releasing: false, until: later ? until.toISOString() : present.record.until },
  };
}

/** Disables what is to be disabled, each written down as it is done. Gives the first fault, and goes on with the others. */
export async function disableWanted(
  { record, store }: Kept,
  hands: Hands,
): Promise<{ record: Contained; fault: GatewayError | undefined }> {
  let latest = record;
  let fault: GatewayError | undefined;
  for (const { server, state } of record.accounts) {
    if (state !== 'wanted') continue;
    try {
      await hands.setEnabled(server, whoOf(record), false);
      if (hands.planned) continue;
      const accounts = latest.accounts.map((account): Account => (account.server === server ? { server, state: 'disabled' } : account));
      latest = { ...latest, accounts };
      await store.put(latest);
    } catch (thrown) {
      fault ??= asGatewayError(thrown);
    }
  }
  return { record: latest, fault };
}

/** Ends the sessions that somebody has now. Gives the first fault, and goes on with the others. */
async function endAll(record: Contained, hands: Hands): Promise<{ ended: JsonObject[]; fault: GatewayError | undefined }> {
  let fault: GatewayError | undefined;
  try {
    const sessions = (await hands.sessions(record.name)).filter((session) => hands.isOf(session, record));
    const ended = await inParallel(sessions, AT_ONCE, (session) =>
      hands.end(session).catch((thrown: unknown) => {
        fault ??= asGatewayError(thrown);
        return false;
      }),
    );
    return { ended: sessions.filter((_session, index) => ended[index]), fault };
  } catch (thrown) {
    return { ended: [], fault: asGatewayError(thrown) };
  }
}

/** Errors: `NOT_FOUND` for an id or a name that is not contained. Others leave it to the keeper to go on. */
export async function release(
  { id, name }: { id?: string | undefined; name?: string | undefined },
  hands: Hands,
): Promise<{ id: string; enabled: string[]; 'ended-meanwhile': number }> {
  if ((id === undefined) === (name === undefined)) throw badInput('id or name has to be given, and only one of them.');
  return hands.exclusive(async () => {
    const all = await allKept(hands.appliance);
    const kept = all.find(({ record }) => (id === undefined ? whoOf(record) === name : record.id === id));
    if (!kept) {
      const words = sentence`Nobody is contained here under ${JSON.stringify(id ?? name)}. List tells who is; give the folder where they are kept, if this Node-RED has not used it yet.`;
      throw new GatewayError('NOT_FOUND', words, { sent: false });
    }
    const enabled = await enableAgain(kept, hands);
    return { id: kept.record.id, enabled, 'ended-meanwhile': kept.record.ended };
  });
}

/** Ends a containment: enables exactly what it has disabled, and forgets it. That it ends is written down first, so that it will. */
export async function enableAgain({ record, store }: Kept, hands: Hands): Promise<string[]> {
  const enabled: string[] = [];
  let latest: Contained = { ...record, releasing: true };
  if (!hands.planned && !record.releasing) await store.put(latest);
  for (const { server } of record.accounts) {
    // Somebody else may have enabled or deleted it meanwhile.
    if ((await hands.isEnabled(server, whoOf(record))) === false) {
      await hands.setEnabled(server, whoOf(record), true);
      enabled.push(server);
    }
    if (hands.planned) continue;
    latest = { ...latest, accounts: latest.accounts.filter((account) => account.server !== server) };
    await store.put(latest);
  }
  if (!hands.planned) await store.remove(record.id);
  return enabled;
}

/** What `list` tells of each. */
export async function list(appliance: string): Promise<JsonObject[]> {
  return (await allKept(appliance)).map(({ record }) => ({
    id: record.id,
    ...whom(record),
    disabled: record.accounts.map(({ server }) => server),
    since: record.since,
    until: record.until,
    'ended-meanwhile': record.ended,
  }));
}

export function whom({ name, 'source-ip': address }: Pick<Contained, 'name' | 'source-ip'>): { name?: string; 'source-ip'?: string } {
  return name === undefined ? { ...(address !== undefined && { 'source-ip': address }) } : { name };
}

function stillContained(fault: GatewayError, record: Contained): GatewayError {
  const words = sentence`${fault} ${whoOf(record)} is contained all the same, and what failed is tried again until ${record.until}; release ends that.`;
  const extra = { ...fault.details.extra, id: record.id, until: record.until };
  return new GatewayError(fault.code, words, { ...fault.details, extra });
}
