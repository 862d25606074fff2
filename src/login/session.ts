import { BackOff, retryAfterMs } from './back-off';
import type { Coordination } from '../model/coordination';
import { asGatewayError, GatewayError } from '../model/error';
import type { LoginState } from '../model/operation';
import type { Redactor } from '../model/redaction';
import type { CheckedSettings } from '../model/settings';
import { nextCode } from './one-time-codes';
import type { Reply, Transport } from '../http/transport';
import { parseObject } from '../http/document';

const REALM_LOGIN = '/api/v1/realm_auth';
const LEGACY_LOGIN = '/api/v1/auth';

/** An API key as the header that carries it; identity matters, see `refused`. */
export interface Key {
  readonly authorization: string;
}

/**
 * The API key of one appliance (appliance-api.md, "Authentication"): one login however many wait, at most one after a 401, a
 * pause after a refusal, no one-time code sent twice. The key lives in memory only.
 */
export class Session {
  readonly #settings: CheckedSettings;
  readonly #transport: Transport;
  readonly #redactor: Redactor;
  readonly #coordination: Coordination;
  readonly #backOff: BackOff;
  readonly #closing = new AbortController();
  #key: Key | undefined;
  #flight: Promise<Key> | undefined;
  #pending: string | undefined;
  #pastedKeyExpired = false;
  /** The step that nothing here could answer. */
  #unansweredId: string | undefined;
  /** Steps that had their answer: a flow that repeats a message must not send its code again. */
  readonly #answered = new Set<string>();

  constructor(settings: CheckedSettings, transport: Transport, redactor: Redactor, coordination: Coordination) {
    this.#settings = settings;
    this.#transport = transport;
    this.#redactor = redactor;
    this.#coordination = coordination;
    this.#backOff = new BackOff(settings, coordination);
    if (settings.login === 'key') this.#key = basic(settings.apiKey ?? '', '');
  }

  /** The key if there is one: the fast way, without a promise. */
  get present(): Key | undefined {
    return this.#key;
  }

  /** The key, after a login if need be. `onLogin` is called by the one caller whose call starts it. */
  async key(onLogin: () => void): Promise<Key> {
    if (this.#key) return this.#key;
    if (this.#settings.login === 'key') throw this.#expiredKey();
    if (this.#flight) return this.#flight;
    if (this.#settings.secondFactor === 'flow') throw this.#needsLoginNode();
    return this.#fly(async () => {
      await this.#backOff.refuseWhilePaused(this.#unansweredId);
      onLogin();
      const answer = await this.#firstStep();
      return 'key' in answer ? answer.key : this.#secondStep(answer.resumeId);
    });
  }

  /** Compare and swap: a 401 only invalidates the key that it was sent with, not one that came meanwhile. */
  refused(key: Key): void {
    if (this.#key !== key) return;
    this.#key = undefined;
    if (this.#settings.login === 'key') this.#pastedKeyExpired = true;
  }

  /** Explicit login of `gateway-login`. A login that is pending already is not started again. */
  async login(onLogin: () => void): Promise<LoginState> {
    if (this.#key) return { state: 'ready' };
    if (this.#pending !== undefined) return { state: 'pending', resumeId: this.#pending };
    // Whoever waits for the key meanwhile learns from the rejected flight that a code is needed.
    try {
      if (this.#settings.secondFactor !== 'flow' || this.#flight) await this.key(onLogin);
      else await this.#begin(onLogin);
    } catch (error) {
      if (this.#pending !== undefined) return { state: 'pending', resumeId: this.#pending };
      throw error;
    }
    return { state: 'ready' };
  }

  async #begin(onLogin: () => void): Promise<Key> {
    return this.#fly(async () => {
      await this.#backOff.refuseWhilePaused(this.#unansweredId);
      onLogin();
      const answer = await this.#firstStep();
      if ('key' in answer) return answer.key;
      this.#pending = answer.resumeId;
      throw this.#needsLoginNode();
    });
  }

  /** Answers the pending step. Whatever becomes of it, the code is spent and the step over. */
  async resume(code: string, resumeId: string | undefined, onLogin: () => void): Promise<LoginState> {
    const id = resumeId ?? this.#pending;
    if (id === undefined)
      throw new GatewayError('BAD_INPUT', 'No login is waiting for a code. Send a login first, then resume it.', { sent: false });
    if (this.#answered.has(id))
      throw new GatewayError('BAD_INPUT', 'That login step has had its answer, and a code is not sent twice. Send a new login first.', {
        sent: false,
      });
    this.#answered.add(id);
    this.#pending = undefined;
    onLogin();
    const { username = '', secondUsername } = this.#settings;
    this.#redactor.addPassing(code, `${secondUsername || username}:${code}`);
    try {
      await this.#fly(async () => {
        const answer = await this.#step({ resume_id: id }, basic(secondUsername || username, code));
        if ('key' in answer) return answer.key;
        this.#pending = answer.resumeId;
        throw this.#needsLoginNode();
      });
    } catch (error) {
      if (this.#pending !== undefined) return { state: 'pending', resumeId: this.#pending };
      throw error;
    }
    return { state: 'ready' };
  }

  /** Drops the key and a pending step. */
  forget(): LoginState {
    if (this.#settings.login !== 'key') this.#key = undefined;
    this.#pending = undefined;
    return { state: 'none' };
  }

  close(): void {
    this.#closing.abort();
  }

  /** One login for all who wait. Its failure is theirs too; the next call starts afresh, or meets the pause. */
  async #fly(login: () => Promise<Key>): Promise<Key> {
    const flight = login();
    this.#flight = flight;
    try {
      this.#key = await flight;
      await this.#backOff.accepted();
      return this.#key;
    } catch (thrown) {
      const error = asGatewayError(thrown);
      // Before anybody learns of it: the next one meets the pause.
      await this.#backOff.failed(error);
      throw error;
    } finally {
      this.#flight = undefined;
    }
  }

  async #firstStep(): Promise<{ key: Key } | { resumeId: string }> {
    const { login, realm = '', username = '', password = '' } = this.#settings;
    const credentials = basic(username, password);
    if (login === 'realm') return this.#step({ realm }, credentials);
    // Seen as GET too (field-notes.md); these did not look at the credentials.
    const reply = await this.#send('POST', LEGACY_LOGIN, credentials);
    return this.#answer([400, 404, 405].includes(reply.status) ? await this.#send('GET', LEGACY_LOGIN, credentials) : reply);
  }

  async #secondStep(resumeId: string): Promise<Key> {
    const { secondFactor, username = '', secondUsername, secondPassword = '', totpSecret = '' } = this.#settings;
    if (secondFactor === 'none') {
      throw await this.#unanswered(resumeId, 'The appliance asks for a second factor, but the appliance node has none. Choose one there.');
    }
    const answer = secondFactor === 'totp' ? await this.#code(totpSecret) : secondPassword;
    const next = await this.#step({ resume_id: resumeId }, basic(secondUsername || username, answer));
    if ('key' in next) return next.key;
    throw await this.#unanswered(
      next.resumeId,
      'The appliance took the second factor and asks for yet another step, which nothing here can answer.',
    );
  }

  async #code(totpSecret: string): Promise<string> {
    try {
      const { code } = await nextCode(totpSecret, this.#coordination, this.#closing.signal);
      const { username = '', secondUsername } = this.#settings;
      this.#redactor.addPassing(code, `${secondUsername || username}:${code}`);
      return code;
    } catch (error) {
      if (this.#closing.signal.aborted)
        throw new GatewayError('ABORTED', 'The appliance node was closed during the login.', { sent: false });
      throw error;
    }
  }

  async #step(body: Record<string, string>, credentials: Key): Promise<{ key: Key } | { resumeId: string }> {
    return this.#answer(await this.#send('POST', REALM_LOGIN, credentials, JSON.stringify(body)));
  }

  #send(method: 'GET' | 'POST', path: string, { authorization }: Key, body?: string): Promise<Reply> {
    return this.#transport.send({ method, path: this.#settings.prefix + path, authorization, ...(body !== undefined && { body }) });
  }

  #answer(reply: Reply): { key: Key } | { resumeId: string } {
    if (reply.status < 200 || reply.status > 299) throw this.#refusal(reply);
    const { api_key: apiKey, resume_id: resumeId } = parseObject(reply);
    if (typeof apiKey === 'string' && apiKey !== '') {
      const key = basic(apiKey, '');
      this.#redactor.addPassing(apiKey, `${apiKey}:`);
      return { key };
    }
    if (typeof resumeId === 'string' && resumeId !== '') return { resumeId };
    throw new GatewayError(
      'BAD_RESPONSE',
      'The appliance accepted the login but gave neither a key nor a further step. Check that the realm allows REST access.',
      { status: reply.status },
    );
  }

  /** 400, 401 and 422 refuse the credentials (a wrong realm among them), 403 the account; all pause further logins. */
  #refusal({ status, retryAfter }: Reply): GatewayError {
    const wait = retryAfterMs(retryAfter);
    const details = { status, ...(wait !== undefined && { retryAfterMs: wait }) };
    if (status === 403) {
      return new GatewayError(
        'FORBIDDEN',
        'The appliance forbids this login (403). Check that the administrator account may use the REST interface and that the realm admits the address of this machine.',
        details,
      );
    }
    if (status === 400 || status === 401 || status === 422) {
      const what = this.#settings.login === 'realm' ? 'realm, user name, password or second factor' : 'user name or password';
      return new GatewayError(
        'LOGIN_REJECTED',
        `The appliance refused the login (${status}). Check ${what} in the appliance node, and that the account may use the REST interface.`,
        details,
      );
    }
    if (status === 404) {
      const advice =
        this.#settings.login === 'legacy'
          ? 'Releases from 22.7R2.1 on have only the realm login: choose that.'
          : 'Check the URL, and that the REST interface is on.';
      return new GatewayError('NOT_FOUND', `The appliance has no such login (404). ${advice}`, details);
    }
    return new GatewayError(
      'APPLIANCE_ERROR',
      `The appliance could not carry out the login (status ${status}). It may be restarting; try again later.`,
      details,
    );
  }

  async #unanswered(resumeId: string, words: string): Promise<GatewayError> {
    this.#unansweredId = resumeId;
    await this.#backOff.pause('SECOND_FACTOR_REQUIRED', undefined);
    return new GatewayError('SECOND_FACTOR_REQUIRED', words, { resumeId, sent: false });
  }

  #needsLoginNode(): GatewayError {
    const id = this.#pending;
    const words =
      id === undefined
        ? 'No one is logged in, and only a gateway-login node may start a login here. Send it a login first.'
        : 'The login waits for a code. Give it to a gateway-login node, then send this again.';
    return new GatewayError('SECOND_FACTOR_REQUIRED', words, { sent: false, ...(id !== undefined && { resumeId: id }) });
  }

  #expiredKey(): GatewayError {
    const why = this.#pastedKeyExpired ? 'has expired or was never valid' : 'is gone';
    return new GatewayError(
      'UNAUTHORIZED',
      `The API key of the appliance node ${why}. Enter a new one, or choose the realm login, which renews it by itself.`,
      { sent: false },
    );
  }
}

function basic(username: string, password: string): Key {
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}` };
}
