import { ensure, type Ensured } from '../../change/ensure';
import type { WriteResult } from '../../model/envelope';
import { asGatewayError, badInput, GatewayError } from '../../model/error';
import { isObject, type JsonObject } from '../../model/json';
import type { Call } from '../../model/operation';
import { at } from '../../model/path';
import { sentence, type Sentence } from '../../model/sentence';

const serverPath = (server: string): string => at`/api/v1/configuration/authentication/auth-servers/auth-server/${server}`;

/** The local users of one authentication server (appliance-api.md, "Local user"). What is not there is told from what it is not in. */
export class LocalUsers {
  readonly #server: string;
  readonly #path: string;
  readonly #call: Call;
  #serverIsThere: Promise<boolean | undefined> | undefined;

  /** `call` is that of the operation; whoever works on one of many gives that one's own. */
  constructor(server: string, call: Call) {
    this.#server = server;
    this.#path = serverPath(server);
    this.#call = call;
  }

  pathOf(username: string): string {
    return `${this.#path}/local/users/user${at`/${username}`}`;
  }

  /** All of them. Some releases have the list one level up (field-notes.md, "Local users"). */
  async list(): Promise<JsonObject[]> {
    try {
      return usersOf(await this.#call.read({ method: 'GET', path: `${this.#path}/local/users/user` }));
    } catch (thrown) {
      if (asGatewayError(thrown).answered !== 'NOT_FOUND') throw thrown;
    }
    return this.#located(undefined, async () => usersOf(await this.#call.read({ method: 'GET', path: `${this.#path}/local/users` })));
  }

  get(username: string, call = this.#call): Promise<JsonObject> {
    return this.#located(username, async () => withoutPassword(await call.read({ method: 'GET', path: this.pathOf(username) })));
  }

  /** Undefined for a user that is not there, on a server that is. */
  async find(username: string): Promise<JsonObject | undefined> {
    try {
      return await this.get(username);
    } catch (thrown) {
      if (asGatewayError(thrown).answered !== 'NOT_FOUND' || (await this.#serverIsThere) !== true) throw thrown;
      return undefined;
    }
  }

  create(user: JsonObject, call = this.#call): Promise<WriteResult> {
    return this.#located(undefined, () => call.write({ method: 'POST', path: `${this.#path}/local/users/user`, body: user }));
  }

  /** `missingOk`: a user that is not there is as good as deleted, unless its server is not there either: that is a slip. */
  delete(username: string, missingOk: boolean, call = this.#call): Promise<WriteResult> {
    const path = this.pathOf(username);
    return this.#alone(path, call, async () => {
      try {
        return await this.#located(username, async () => {
          if (missingOk && call.dryRun) await call.read({ method: 'GET', path });
          return call.write({ method: 'DELETE', path });
        });
      } catch (thrown) {
        if (!missingOk || asGatewayError(thrown).answered !== 'NOT_FOUND' || (await this.#serverIsThere) === false) throw thrown;
        return call.unchanged();
      }
    });
  }

  /** Makes a user so. The password cannot be compared: it is sent to a new user, or where it is to be set. */
  async ensure(username: string, fields: JsonObject, setPassword: boolean, call = this.#call): Promise<Ensured> {
    const hasPassword = fields['password-cleartext'] !== undefined;
    if (setPassword && !hasPassword) throw badInput('set-password is set, but there is no password-cleartext to set. Nothing was sent.');
    const body = (present: JsonObject | undefined): JsonObject => {
      if (present || hasPassword) return { username, ...fields };
      throw badInput(sentence`The user ${JSON.stringify(username)} does not exist, and cannot be created without password-cleartext.`);
    };
    const wanted = { path: this.pathOf(username), body, always: setPassword, onlyNew: setPassword ? [] : ['password-cleartext'] };
    const ensured = await this.#located(undefined, () => ensure(wanted, call));
    return { ...ensured, resource: ensured.resource && withoutPassword(ensured.resource) };
  }

  /**
   * Changes a user that is there: a PUT to a new path would create one, so it is read first. One field goes to its own path; with
   * several, everything that was read goes back, since a release may take what is missing for empty.
   */
  change(username: string, changes: JsonObject, call = this.#call): Promise<WriteResult> {
    const path = this.pathOf(username);
    return this.#alone(path, call, async () => {
      const present = await this.#located(username, () => call.read({ method: 'GET', path }));
      const [first, second] = Object.keys(changes);
      if (first === undefined) return call.unchanged();
      if (second === undefined) return call.write({ method: 'PUT', path: `${path}${at`/${first}`}`, body: changes });
      return call.write({ method: 'PUT', path, body: { ...putBack(present, changes), ...changes } });
    });
  }

  /** Two changes of one user at once would each put back what the other one has changed. */
  #alone<T>(path: string, call: Call, work: () => Promise<T>): Promise<T> {
    return call.exclusive(path, work, { brief: true, cancelled: 'Cancelled while it waited for another change of this user.' });
  }

  /** After a 404 looks whether it is the server or the user that is not there: the appliance tells both alike. */
  async #located<T>(username: string | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      const error = asGatewayError(thrown);
      if (error.answered !== 'NOT_FOUND') throw error;
      const there = await (this.#serverIsThere ??= this.#look());
      if (there === undefined) throw error;
      const words = this.#words(there, username);
      const said = error.details.result?.errors.map(({ message }) => message).join(' ');
      throw new GatewayError('NOT_FOUND', said ? sentence`${words} The appliance says: ${said}` : words, error.details);
    }
  }

  #words(there: boolean, username: string | undefined): Sentence {
    const server = sentence`authentication server ${JSON.stringify(this.#server)}`;
    if (!there) return sentence`The ${server} does not exist on this appliance. Check its name.`;
    if (username === undefined) return sentence`The ${server} has no local users: it is of another type.`;
    return sentence`The user ${JSON.stringify(username)} does not exist on the ${server}. Check the user name.`;
  }

  /** Undefined when it cannot be seen. */
  async #look(): Promise<boolean | undefined> {
    try {
      await this.#call.read({ method: 'GET', path: this.#path }, { lookUp: true });
      return true;
    } catch (thrown) {
      return asGatewayError(thrown).answered === 'NOT_FOUND' ? false : undefined;
    }
  }
}

/** Errors: `BAD_RESPONSE` when what stands there is no list of users. */
function usersOf(document: JsonObject): JsonObject[] {
  const within = document['users'] ?? document;
  const list = (isObject(within) ? within['user'] : within) ?? [];
  const users = (Array.isArray(list) ? (list as unknown[]) : [list]).map(namedOnly);
  if (users.every((user): user is JsonObject => isObject(user) && (users.length > 1 || !isLink(user)))) return users.map(withoutPassword);
  throw new GatewayError('BAD_RESPONSE', 'The appliance answered a list of users that holds something else.', { sent: true });
}

/** Of some there is a name alone: `{ name, href: null }`, as of whatever else is listed so. */
function namedOnly(user: unknown): unknown {
  const given = typeof user === 'string' ? { name: user } : user;
  if (!isObject(given) || typeof given['name'] !== 'string' || Object.hasOwn(given, 'username')) return given;
  return { ...given, href: typeof given['href'] === 'string' ? given['href'] : null };
}

/** A collection that is elsewhere. */
function isLink(item: JsonObject): boolean {
  return Object.keys(item).join() === 'href';
}

function withoutPassword(user: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(user).filter(([name]) => !/^password-(cleartext|encrypted)$/.test(name)));
}

/** What was read, without the password: in clear it never goes back, and in whatever other form it must not meet a new one. */
function putBack(present: JsonObject, changes: JsonObject): JsonObject {
  const rest = withoutPassword(present);
  const kept = present['password-encrypted'];
  if (kept === undefined || Object.hasOwn(changes, 'password-cleartext')) return rest;
  return { ...rest, 'password-encrypted': kept };
}
