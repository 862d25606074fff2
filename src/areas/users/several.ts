import { dataOf, noteEnsured, type Ensured } from '../../change/ensure';
import type { Many } from '../../model/envelope';
import { badInput, GatewayError } from '../../model/error';
import { readField } from '../../model/input';
import { isObject, type JsonObject } from '../../model/json';
import { truth } from '../../model/json-text';
import type { Call, Fields } from '../../model/operation';
import { ours, sentence } from '../../model/sentence';
import { LocalUsers } from './local-users';

/** The subject of an operation on users, as it came, and what holds for all of them. */
interface UsersInput {
  readonly server: string;
  readonly username: string | JsonObject | (string | JsonObject)[];
  readonly max: number;
}

/** One user that an operation is about. */
export interface UserItem {
  readonly username: string;
  /** What is to be sent of it besides its name: every value as the interface wants it. */
  readonly fields: JsonObject;
}

/** What an operation does with one user. */
type Work<R> = (users: LocalUsers, item: UserItem, call: Call) => Promise<R>;

export interface SeveralOptions {
  /** Fields that an item may have of its own; without them, names alone count. */
  readonly fields?: Fields;
  /** In words what is wrong with an item, or undefined. */
  readonly check?: (item: UserItem) => string | undefined;
}

/**
 * One user, or an array of them as *many*, `item` being the name. All are looked at before anything is sent. Errors: `BAD_INPUT` naming
 * the item, `LIMIT` for more than `max`.
 */
export async function eachUser<R>(input: UsersInput, call: Call, work: Work<R>, options: SeveralOptions = {}): Promise<Many | R> {
  const { server, username: given, max, ...common } = input;
  const users = new LocalUsers(server, call);
  const ignored = new Set<string>();
  const read = (one: string | JsonObject, name: string): UserItem => readItem(one, name, { common, options, ignored, users });
  if (!Array.isArray(given)) {
    const item = read(given, 'username');
    noteIgnored(ignored, call);
    return work(users, item, call);
  }
  const items = given.map((one, index) => read(one, `username[${index}]`));
  if (items.length > max) {
    throw new GatewayError(
      'LIMIT',
      sentence`${items.length} users were given, but at most ${max} may be changed at once: nothing was done. Give fewer, or raise max (Most users).`,
      { sent: false },
    );
  }
  noteIgnored(ignored, call);
  return call.eachBy(
    options.fields ? items : unique(items),
    (item, own) => work(users, item, own),
    ({ username }) => username,
  );
}

/** Makes one user so, or each of several. The data of one is the user as it stands. */
export async function ensureUsers(
  { 'set-password': setPassword = false, ...input }: UsersInput & { readonly 'set-password'?: boolean },
  call: Call,
  fields: Fields,
): Promise<Many | JsonObject> {
  const done: Ensured[] = [];
  const ensureUser: Work<JsonObject> = async (users, { username, fields }, one) => {
    const ensured = await users.ensure(username, fields, setPassword, one);
    done.push(ensured);
    return dataOf(ensured, call);
  };
  try {
    return await eachUser(input, call, ensureUser, { fields });
  } finally {
    noteEnsured(done, call);
  }
}

interface Reading {
  readonly common: JsonObject;
  readonly options: SeveralOptions;
  readonly ignored: Set<string>;
  readonly users: LocalUsers;
}

function readItem(given: string | JsonObject, name: string, { common, options, ignored, users }: Reading): UserItem {
  const { username, ...own } = isObject(given) ? namedUser(given) : { username: given };
  if ((typeof username !== 'string' && typeof username !== 'number') || username === '')
    throw badInput(sentence`${ours(name)} has no username. Nothing was sent.`);
  const item = { username: String(username), fields: options.fields ? fieldsOf(own, common, name, options.fields, ignored) : {} };
  // A name that cannot stand in an address is told while nothing has happened yet.
  users.pathOf(item.username);
  const complaint = options.check?.(item);
  if (complaint !== undefined) throw badInput(sentence`${ours(name)} ${ours(complaint)}`);
  return item;
}

/** Some releases list users as `{ name, href }`, with or without a link: that names one too. */
function namedUser(given: JsonObject): JsonObject {
  if (Object.hasOwn(given, 'username') || (typeof given['href'] !== 'string' && given['href'] !== null)) return given;
  const { name: username, ...own } = given;
  return { username, ...own };
}

/** Those of the item, then those for all. */
function fieldsOf(own: JsonObject, common: JsonObject, name: string, fields: Fields, ignored: Set<string>): JsonObject {
  const read: Record<string, unknown> = { ...common };
  for (const [key, value] of Object.entries(own)) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (!field) ignored.add(key);
    else if (value !== undefined && value !== null) read[key] = readField(`${name}.${key}`, field, value);
  }
  const { more = {}, ...known } = read;
  return { ...asTexts(known), ...further(more as JsonObject, known, name) };
}

/** The user as the interface wants it: every value that it names is text. */
function asTexts(known: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(known).map(([key, value]) => [key, typeof value === 'boolean' ? truth(value) : value]));
}

/** Fields that the interface does not name, as they are. */
function further(more: JsonObject, known: JsonObject, name: string): JsonObject {
  const twice = Object.keys(more).find((key) => key === 'username' || Object.hasOwn(known, key));
  if (twice !== undefined) throw badInput(sentence`more.${twice} is given beside the field of that name, for ${ours(name)}. Give it once.`);
  return more;
}

function unique(items: readonly UserItem[]): UserItem[] {
  return [...new Map(items.map((item) => [item.username, item])).values()];
}

function noteIgnored(ignored: ReadonlySet<string>, call: Call): void {
  if (ignored.size > 0) call.note({ ignored: [...ignored] });
}
