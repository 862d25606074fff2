import { toEnsureResultData, addEnsureResults, type EnsureResult } from '../../change/ensure';
import type { BulkResult } from '../../model/envelope';
import { badInput, GatewayError } from '../../model/error';
import { parseField } from '../../model/input';
import { isObject, type JsonObject } from '../../model/json';
import { toBooleanText } from '../../model/json-text';
import type { OperationContext, Fields } from '../../model/operation';
import { trusted, safeMessage } from '../../model/safe-message';
import { LocalUsers } from './local-users';
import type { UserRecord } from './user-record';

/** The raw users of an operation and the fields for all of them. */
interface BulkUsersInput {
  readonly server: string;
  readonly username: string | JsonObject | (string | JsonObject)[];
  readonly max: number;
}

/** One user of an operation. */
interface UserItem {
  readonly username: string;
  /** Fields to send besides the name, with values as the API expects them. */
  readonly fields: JsonObject;
}

/** Runs the operation for one user. */
type UserWork<R> = (users: LocalUsers, item: UserItem, call: OperationContext) => Promise<R>;

interface BulkUsersOptions {
  /** Fields that an item may set; without them, only names are read. */
  readonly fields?: Fields;
  /** Returns the problem with an item; undefined if there is none. */
  readonly check?: (item: UserItem) => string | undefined;
}

/**
 * Runs the work for one user, or for each user of an array with a bulk result whose `item` is the name. All users are checked before
 * anything is sent. Errors: `BAD_INPUT` naming the item, `LIMIT` for more users than `max`.
 */
export async function forEachUser<R>(
  input: BulkUsersInput,
  call: OperationContext,
  work: UserWork<R>,
  options: BulkUsersOptions = {},
): Promise<BulkResult | R> {
  const { server, username: userInput, max, ...common } = input;
  const users = new LocalUsers(server, call);
  const ignored = new Set<string>();
  const read = (rawItem: string | JsonObject, name: string): UserItem => readItem(rawItem, name, { common, options, ignored, users });
  if (!Array.isArray(userInput)) {
    const item = read(userInput, 'username');
    noteIgnored(ignored, call);
    return work(users, item, call);
  }
  const items = userInput.map((rawItem, index) => read(rawItem, `username[${index}]`));
  if (items.length > max) {
    throw new GatewayError(
      'LIMIT',
      safeMessage`${items.length} users were given, but max is ${max}. Nothing was done. Give fewer, or raise max (Max users).`,
      { sent: false },
    );
  }
  noteIgnored(ignored, call);
  return call.runEach(
    options.fields ? items : uniqueUsers(items),
    (item, itemCall) => work(users, item, itemCall),
    ({ username }) => username,
  );
}

/** Updates one user, or each user of an array. The data for a single user is the user after the change. */
export async function ensureUsers(
  { 'set-password': setPassword = false, ...input }: BulkUsersInput & { readonly 'set-password'?: boolean },
  call: OperationContext,
  fields: Fields,
): Promise<BulkResult | UserRecord> {
  const results: EnsureResult[] = [];
  const ensureUser: UserWork<UserRecord> = async (users, { username, fields }, itemCall) => {
    const ensured = await users.ensure(username, fields, setPassword, itemCall);
    results.push(ensured);
    return toEnsureResultData(ensured, call);
  };
  try {
    return await forEachUser(input, call, ensureUser, { fields });
  } finally {
    addEnsureResults(results, call);
  }
}

interface ReadItemContext {
  readonly common: JsonObject;
  readonly options: BulkUsersOptions;
  readonly ignored: Set<string>;
  readonly users: LocalUsers;
}

function readItem(rawItem: string | JsonObject, name: string, { common, options, ignored, users }: ReadItemContext): UserItem {
  const { username, ...itemFields } = isObject(rawItem) ? normalizeUsername(rawItem) : { username: rawItem };
  if ((typeof username !== 'string' && typeof username !== 'number') || username === '')
    throw badInput(safeMessage`${trusted(name)} has no username. Nothing was sent.`);
  const item = { username: String(username), fields: options.fields ? mergeFields(itemFields, common, name, options.fields, ignored) : {} };
  // Builds the path now, so that an invalid name fails before anything is sent.
  users.userPath(item.username);
  const problem = options.check?.(item);
  if (problem !== undefined) throw badInput(safeMessage`${trusted(name)} ${trusted(problem)}`);
  return item;
}

/** Accepts `{ name, href }`, the form in which some releases list users. */
function normalizeUsername(rawItem: JsonObject): JsonObject {
  if (Object.hasOwn(rawItem, 'username') || (typeof rawItem['href'] !== 'string' && rawItem['href'] !== null)) return rawItem;
  const { name: username, ...itemFields } = rawItem;
  return { username, ...itemFields };
}

/** Merges the common fields with the fields of the item, which take precedence. */
function mergeFields(itemFields: JsonObject, common: JsonObject, name: string, fields: Fields, ignored: Set<string>): JsonObject {
  const read: Record<string, unknown> = { ...common };
  for (const [key, value] of Object.entries(itemFields)) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (!field) ignored.add(key);
    else if (value !== undefined && value !== null) read[key] = parseField(`${name}.${key}`, field, value);
  }
  const { more = {}, ...known } = read;
  return { ...toTextValues(known), ...assertNoDuplicates(more as JsonObject, known, name) };
}

/** Converts booleans to text, as the API expects. */
function toTextValues(known: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(known).map(([key, value]) => [key, typeof value === 'boolean' ? toBooleanText(value) : value]));
}

/** Returns the additional fields. Errors: `BAD_INPUT` for a key that is also a field of the operation. */
function assertNoDuplicates(more: JsonObject, known: JsonObject, name: string): JsonObject {
  const duplicate = Object.keys(more).find((key) => key === 'username' || Object.hasOwn(known, key));
  if (duplicate !== undefined)
    throw badInput(
      safeMessage`more.${duplicate} duplicates the field of that name for ${trusted(name)}. Give it only once. Nothing was sent.`,
    );
  return more;
}

function uniqueUsers(items: readonly UserItem[]): UserItem[] {
  return [...new Map(items.map((item) => [item.username, item])).values()];
}

function noteIgnored(ignored: ReadonlySet<string>, call: OperationContext): void {
  if (ignored.size > 0) call.addToEnvelope({ ignored: [...ignored] });
}
