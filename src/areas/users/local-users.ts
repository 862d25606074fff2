import { compareWithDesired } from '../../change/compare';
import { ensureResource, type EnsureResult } from '../../change/ensure';
import type { WriteResult } from '../../model/envelope';
import { asGatewayError, badInput, GatewayError } from '../../model/error';
import { isObject, type JsonObject } from '../../model/json';
import type { OperationContext } from '../../model/operation';
import { encodedPath } from '../../model/path';
import type { Request } from '../../model/request';
import { safeMessage, type SafeMessage } from '../../model/safe-message';
import type { UserRecord } from './user-record';

const serverPath = (server: string): string => encodedPath`/api/v1/configuration/authentication/auth-servers/auth-server/${server}`;

/** The local users of one authentication server (appliance-api.md, "Local user"). Errors name a missing server or a missing user. */
export class LocalUsers {
  readonly #server: string;
  readonly #path: string;
  readonly #call: OperationContext;
  #serverExists: Promise<boolean | undefined> | undefined;

  /** Accesses the users of a server. `call` is the context of the operation; the methods get the context of an item. */
  constructor(server: string, call: OperationContext) {
    this.#server = server;
    this.#path = serverPath(server);
    this.#call = call;
  }

  userPath(username: string): string {
    return `${this.#path}/local/users/user${encodedPath`/${username}`}`;
  }

  /** Lists all users. Some releases have the list one level up (field-notes.md, "Local users"). */
  async list(): Promise<UserRecord[]> {
    try {
      return parseUsers(await this.#call.read({ method: 'GET', path: `${this.#path}/local/users/user` }));
    } catch (thrown) {
      if (asGatewayError(thrown).requestCode !== 'NOT_FOUND') throw thrown;
    }
    return this.#explainNotFound(undefined, async () =>
      parseUsers(await this.#call.read({ method: 'GET', path: `${this.#path}/local/users` })),
    );
  }

  get(username: string, call = this.#call): Promise<UserRecord> {
    return this.#explainNotFound(username, async () => withoutPassword(await call.read({ method: 'GET', path: this.userPath(username) })));
  }

  /** Reads a user; undefined if the server exists but the user does not. */
  async find(username: string): Promise<UserRecord | undefined> {
    try {
      return await this.get(username);
    } catch (thrown) {
      if (asGatewayError(thrown).requestCode !== 'NOT_FOUND' || (await this.#serverExists) !== true) throw thrown;
      return undefined;
    }
  }

  create(user: JsonObject, call = this.#call): Promise<WriteResult> {
    return this.#explainNotFound(undefined, () => call.write({ method: 'POST', path: `${this.#path}/local/users/user`, body: user }));
  }

  /** Deletes a user. With `missingOk`, a missing user counts as deleted, but a missing server is an error. */
  delete(username: string, missingOk: boolean, call = this.#call): Promise<WriteResult> {
    const path = this.userPath(username);
    return this.#runExclusively(path, call, async () => {
      try {
        return await this.#explainNotFound(username, async () => {
          if (missingOk && call.dryRun) await call.read({ method: 'GET', path });
          return call.write({ method: 'DELETE', path });
        });
      } catch (thrown) {
        if (!missingOk || asGatewayError(thrown).requestCode !== 'NOT_FOUND' || (await this.#serverExists) === false) throw thrown;
        return call.reportUnchanged();
      }
    });
  }

  /** Updates one user. The password cannot be compared, so it is sent only for a new user or with `setPassword`. */
  async ensure(username: string, fields: JsonObject, setPassword: boolean, call = this.#call): Promise<EnsureResult> {
    const hasPassword = fields['password-cleartext'] !== undefined;
    if (setPassword && !hasPassword) throw badInput('set-password is set, but password-cleartext is missing. Nothing was sent.');
    const body = (present: JsonObject | undefined): JsonObject => {
      if (present || hasPassword) return { username, ...fields };
      throw badInput(
        safeMessage`The user ${JSON.stringify(username)} does not exist and cannot be created without password-cleartext. Nothing was sent.`,
      );
    };
    const ensureRequest = {
      path: this.userPath(username),
      body,
      alwaysWrite: setPassword,
      createOnlyKeys: setPassword ? [] : ['password-cleartext'],
    };
    const ensured = await this.#explainNotFound(undefined, () => ensureResource(ensureRequest, call));
    return { ...ensured, resource: ensured.resource && withoutPassword(ensured.resource) };
  }

  /**
   * Changes an existing user. It reads the user first, because a PUT to a new path would create one. One field goes to its own path.
   * Several fields go back with the whole user, because some releases clear missing fields.
   */
  change(username: string, changes: JsonObject, call = this.#call): Promise<WriteResult> {
    const path = this.userPath(username);
    return this.#runExclusively(path, call, async () => {
      const present = await this.#explainNotFound(username, () => call.read({ method: 'GET', path }));
      const [first, second] = Object.keys(changes);
      if (first === undefined) return call.reportUnchanged();
      const request: Request =
        second === undefined
          ? { method: 'PUT', path: `${path}${encodedPath`/${first}`}`, body: changes }
          : { method: 'PUT', path, body: { ...toUpdateBase(present, changes), ...changes } };
      const result = await call.write(request);
      const { diff, notCompared } = compareWithDesired(path, changes, present);
      // A password cannot be compared.
      if (diff.length > 0 || notCompared.length === 0) call.reportDifference(diff.length > 0);
      return result;
    });
  }

  /** Serializes changes of one user, because each writes back what it read. */
  #runExclusively<T>(path: string, call: OperationContext, work: () => Promise<T>): Promise<T> {
    return call.runExclusive(path, work, { isBrief: true, abortMessage: 'Canceled while it waited for another change of this user.' });
  }

  /** Looks the server up after a 404, because the appliance answers 404 for a missing server and for a missing user. */
  async #explainNotFound<T>(username: string | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      const error = asGatewayError(thrown);
      if (error.requestCode !== 'NOT_FOUND') throw error;
      const serverExists = await (this.#serverExists ??= this.#checkServer());
      if (serverExists === undefined) throw error;
      const explanation = this.#describeNotFound(serverExists, username);
      const applianceMessage = error.details.result?.errors.map(({ message }) => message).join(' ');
      throw new GatewayError(
        'NOT_FOUND',
        applianceMessage ? safeMessage`${explanation} The appliance says: ${applianceMessage}` : explanation,
        error.details,
      );
    }
  }

  #describeNotFound(serverExists: boolean, username: string | undefined): SafeMessage {
    const server = safeMessage`authentication server ${JSON.stringify(this.#server)}`;
    if (!serverExists) return safeMessage`The ${server} does not exist on this appliance. Check its name.`;
    if (username === undefined) return safeMessage`The ${server} has no local users: it is of another type.`;
    return safeMessage`The user ${JSON.stringify(username)} does not exist on the ${server}. Check the user name.`;
  }

  /** Checks the server. Returns undefined if it cannot be read. */
  async #checkServer(): Promise<boolean | undefined> {
    try {
      await this.#call.read({ method: 'GET', path: this.#path }, { isLookup: true });
      return true;
    } catch (thrown) {
      return asGatewayError(thrown).requestCode === 'NOT_FOUND' ? false : undefined;
    }
  }
}

/** Reads a list of users. Errors: `BAD_RESPONSE` for other content. */
function parseUsers(document: JsonObject): UserRecord[] {
  const container = document['users'] ?? document;
  const list = (isObject(container) ? container['user'] : container) ?? [];
  const users = (Array.isArray(list) ? (list as unknown[]) : [list]).map(normalizeListedUser);
  if (users.every((user): user is JsonObject => isObject(user) && (users.length > 1 || !isLink(user)))) return users.map(withoutPassword);
  throw new GatewayError(
    'BAD_RESPONSE',
    'The list of users from the appliance contains something else than users. The list was discarded.',
    { sent: true },
  );
}

/** Turns a name without a link into `{ name, href: null }`, as in other lists. */
function normalizeListedUser(user: unknown): unknown {
  const record = typeof user === 'string' ? { name: user } : user;
  if (!isObject(record) || typeof record['name'] !== 'string' || Object.hasOwn(record, 'username')) return record;
  return { ...record, href: typeof record['href'] === 'string' ? record['href'] : null };
}

/** Whether an item is only a link to another collection. */
function isLink(item: JsonObject): boolean {
  return Object.keys(item).join() === 'href';
}

function withoutPassword(user: JsonObject): UserRecord {
  return Object.fromEntries(Object.entries(user).filter(([name]) => !/^password-(cleartext|encrypted)$/.test(name)));
}

/** Returns the user without the clear-text password, and without the encrypted one beside a new password. */
function toUpdateBase(present: JsonObject, changes: JsonObject): JsonObject {
  const rest = withoutPassword(present);
  const encryptedPassword = present['password-encrypted'];
  if (encryptedPassword === undefined || Object.hasOwn(changes, 'password-cleartext')) return rest;
  return { ...rest, 'password-encrypted': encryptedPassword };
}
