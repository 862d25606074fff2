import type { Transport } from '../http/transport';
import type { Cancellable } from '../model/cancelling';
import type { Coordination } from '../model/coordination';
import { asGatewayError, GatewayError } from '../model/error';
import type { LoginState } from '../model/operation';
import type { Redactor } from '../model/redaction';
import { ours, sentence } from '../model/sentence';
import type { CheckedSettings } from '../model/settings';
import { keySharingOf } from './account';
import { AccountState, joinAccount, leaveAccount } from './account-state';
import { Key } from './key';
import { BackOff } from './back-off';
import { LoginExchange, type Step } from './login-exchange';
import { LoginUnderWay } from './login-under-way';
import { nextCode, type OneTimeCode } from './one-time-codes';

export type { Key } from './key';

export interface SessionOptions {
  /** Logs in by itself, whatever key there is for the account: to prove that a login works. */
  readonly ownLogin?: boolean | undefined;
}

type Work = (login: LoginUnderWay) => Promise<Key>;

/**
 * The API key of one appliance (appliance-api.md, "Authentication"): one login however many wait, in all gateways of the account, at
 * most one after a 401, a pause after one that failed, no one-time code sent twice. The key lives in memory only.
 */
export class Session {
  readonly #settings: CheckedSettings;
  readonly #redactor: Redactor;
  readonly #coordination: Coordination;
  readonly #exchange: LoginExchange;
  readonly #backOff: BackOff;
  readonly #account: string;
  readonly #state: AccountState;
  readonly #closing = new AbortController();

  constructor(
    settings: CheckedSettings,
    transport: Transport,
    redactor: Redactor,
    coordination: Coordination,
    { ownLogin = false }: SessionOptions = {},
  ) {
    this.#settings = settings;
    this.#redactor = redactor;
    this.#coordination = coordination;
    this.#exchange = new LoginExchange(settings, transport);
    this.#account = keySharingOf(settings);
    this.#backOff = new BackOff(settings, coordination);
    if (ownLogin || settings.login === 'key') {
      this.#state = new AccountState();
      this.#state.join(redactor);
      if (settings.login === 'key') this.#state.key = new Key(settings.apiKey ?? '');
    } else this.#state = joinAccount(this.#account, redactor);
  }

  /** The key if there is one: the fast way, without a promise. */
  get present(): Key | undefined {
    return this.#state.key;
  }

  /**
   * The key, after a login if need be. `onLogin` is called by the one caller whose call starts it. Whoever is cancelled by the signal
   * leaves at once; when nobody is left, no further step is taken.
   */
  async key(onLogin: () => void, signal?: Cancellable): Promise<Key> {
    for (;;) {
      if (this.#closing.signal.aborted) throw closed();
      const { key } = this.#state;
      if (key) return key;
      const login = this.#joinable();
      if (this.#settings.login === 'key') throw expiredKey();
      if (!login && this.#settings.secondFactor === 'flow') throw this.#needsLoginNode();
      const work: Work = async (self) => {
        const step = await this.#exchange.first();
        return 'key' in step ? step.key : this.#secondStep(step.resumeId, self);
      };
      try {
        return await (login ?? this.#start(work, onLogin)).key(signal);
      } catch (thrown) {
        // The gateway that logged in for all was closed; this one was not, nor was its caller cancelled.
        if (!login || asGatewayError(thrown).code !== 'ABORTED' || signal?.aborted) throw thrown;
      }
    }
  }

  /** What a request with this key was answered: any answer but a refusal or a fault shows that the appliance takes it. */
  answered(key: Key, status: number): void {
    if (key.accepted || status === 401 || status === 403 || status < 200 || status > 499) return;
    key.accepted = true;
    this.#state.keyRefused = false;
    // What cannot be forgotten now ends by itself.
    this.#backOff.accepted().catch(() => undefined);
  }

  /**
   * A 401 to a request. True when another key may answer it: one that came meanwhile (a 401 only invalidates the key that it was sent
   * with), or that of a new login. False when this key is fresh and came because another was refused: the refusal is the outcome, and
   * logins pause. A key is only given up where another can be had. Errors: `LOGIN_PAUSED`.
   */
  async refused(key: Key): Promise<boolean> {
    const state = this.#state;
    if (state.key !== key) return true;
    if (this.#settings.login !== 'key') {
      if (state.keyRefused && !key.accepted && !key.hopeless) {
        await this.refusedAgain(key);
        return false;
      }
      await this.#refuseWhilePaused();
    }
    if (state.key === key) {
      state.key = undefined;
      state.keyRefused = true;
    }
    return true;
  }

  /** A 401 to the replay of a request, by the key of a login that was made because of the first one: logins pause. The key stays. */
  async refusedAgain(key: Key): Promise<void> {
    const state = this.#state;
    if (state.key !== key) return;
    if (!key.hopeless) state.pausing = this.#backOff.pause('UNAUTHORIZED', 401).catch(() => undefined);
    key.hopeless = true;
    await state.pausing;
  }

  /**
   * Whether a 403 without a result envelope may mean that this key has died (contract, "Errors"): it had been accepted, and no login
   * because of such a 403 has been in vain for ten minutes.
   */
  async mayHaveDied(key: Key): Promise<boolean> {
    return key.accepted && this.#settings.login !== 'key' && (await this.#backOff.mayRenewForbidden());
  }

  /** A login because of such a 403 was in vain: for ten minutes there is no other one because of that. */
  renewedInVain(): Promise<void> {
    return this.#backOff.renewalDidNotHelp();
  }

  /** Explicit login of `gateway-login`. A login that is pending already is not started again. */
  async login(onLogin: () => void, signal?: Cancellable): Promise<LoginState> {
    const state = this.#state;
    if (state.key) return { state: 'ready' };
    if (state.pendingStep !== undefined) return { state: 'pending', resumeId: state.pendingStep };
    // Whoever waits for the key meanwhile learns from the login, which rejects, that a code is needed.
    if (this.#settings.secondFactor !== 'flow' || this.#joinable()) return this.#outcome(this.key(onLogin, signal));
    const work: Work = async (self) => this.#keyOrPending(await this.#exchange.first(), self);
    return this.#outcome(this.#start(work, onLogin).key(signal));
  }

  /** Answers the pending step. Whatever becomes of it, the code is spent and the step over. */
  async resume(code: string, resumeId: string | undefined, onLogin: () => void): Promise<LoginState> {
    const state = this.#state;
    const step = resumeId ?? state.pendingStep;
    if (step === undefined)
      throw new GatewayError('BAD_INPUT', sentence`No login is waiting for a code. Send a login first, then resume it.`, { sent: false });
    if (!state.answer(step))
      throw new GatewayError(
        'BAD_INPUT',
        sentence`That login step has had its answer, and a code is not sent twice. Send a new login first.`,
        { sent: false },
      );
    state.pendingStep = undefined;
    const work: Work = async (self) => this.#keyOrPending(await this.#second(step, code), self);
    return this.#outcome(this.#start(work, onLogin, false).key(undefined));
  }

  /** Drops the key and a pending step; a login that is under way does not bring them back. */
  forget(): LoginState {
    if (this.#settings.login !== 'key') this.#state.forget();
    return { state: 'none' };
  }

  /** Ends a wait for a code. The key stays for the other gateways of the account, and a while for those after a deploy. */
  close(): void {
    this.#closing.abort();
    leaveAccount(this.#account, this.#state, this.#redactor);
  }

  async #refuseWhilePaused(): Promise<void> {
    await this.#state.pausing;
    await this.#backOff.refuseWhilePaused(this.#state.unansweredStep);
  }

  /** The login to wait for, if there is one whose key will stay. */
  #joinable(): LoginUnderWay | undefined {
    const { login } = this.#state;
    return login?.forgotten ? undefined : login;
  }

  #start(work: Work, onLogin: () => void, heedPause = true): LoginUnderWay {
    const state = this.#state;
    const login = new LoginUnderWay(async (self) => {
      try {
        if (heedPause) await this.#refuseWhilePaused();
        onLogin();
        const key = await work(self);
        state.mask(key.apiKey, `${key.apiKey}:`);
        if (!self.forgotten) state.key = key;
        return key;
      } catch (thrown) {
        const error = asGatewayError(thrown);
        // Before anybody learns of it: the next one meets the pause.
        await this.#backOff.failed(error).catch(() => undefined);
        throw error;
      } finally {
        if (state.login === self) state.login = undefined;
      }
    });
    state.login = login;
    return login;
  }

  /** A flow answers further steps: they wait for it. */
  #keyOrPending(step: Step, login: LoginUnderWay): Key {
    if ('key' in step) return step.key;
    if (!login.forgotten) this.#state.pendingStep = step.resumeId;
    throw this.#needsLoginNode();
  }

  async #outcome(key: Promise<Key>): Promise<LoginState> {
    try {
      await key;
      return { state: 'ready' };
    } catch (error) {
      const { pendingStep } = this.#state;
      if (pendingStep !== undefined) return { state: 'pending', resumeId: pendingStep };
      throw error;
    }
  }

  /** The key, after the one answer that the settings have for a further step. */
  async #secondStep(resumeId: string, login: LoginUnderWay): Promise<Key> {
    const { secondFactor, secondPassword = '' } = this.#settings;
    if (secondFactor === 'none')
      throw await this.#unanswered(resumeId, 'The appliance asks for a second factor, but the settings have none. Choose one there.');
    const step = secondFactor === 'totp' ? await this.#secondByCode(resumeId, login) : await this.#second(resumeId, secondPassword);
    if ('key' in step) return step.key;
    throw await this.#unanswered(
      step.resumeId,
      'The appliance took the second factor and asks for yet another step, which nothing here can answer.',
    );
  }

  #second(resumeId: string, answer: string): Promise<Step> {
    const { username = '', secondUsername } = this.#settings;
    const name = secondUsername || username;
    // A code is known as a secret from here on; a fixed password is anyway.
    if (answer !== this.#settings.secondPassword) this.#state.mask(answer, `${name}:${answer}`);
    return this.#exchange.second(resumeId, name, answer);
  }

  async #secondByCode(resumeId: string, login: LoginUnderWay): Promise<Step> {
    const { totpSecret = '' } = this.#settings;
    const wait = (signal: AbortSignal): Promise<OneTimeCode> => nextCode(totpSecret, this.#coordination, signal);
    const next = await login.whileWanted(this.#closing.signal, wait);
    try {
      return await this.#second(resumeId, next.code);
    } catch (thrown) {
      const error = asGatewayError(thrown);
      if (error.details.sent === false) await next.release();
      if (error.code !== 'LOGIN_REJECTED') throw error;
      const { setBackMs } = next;
      const back = setBackMs === undefined ? ours('') : sentence` This one was set back, by ${Math.round(setBackMs / 1000)} s or more.`;
      const words = sentence`${error} Codes depend on the time: compare the clocks of the appliance and of this machine.${back}`;
      throw new GatewayError(error.code, words, error.details);
    }
  }

  async #unanswered(resumeId: string, words: string): Promise<GatewayError> {
    this.#state.unansweredStep = resumeId;
    await this.#backOff.pause('SECOND_FACTOR_REQUIRED', undefined);
    return new GatewayError('SECOND_FACTOR_REQUIRED', ours(words), { resumeId, sent: false });
  }

  #needsLoginNode(): GatewayError {
    const id = this.#state.pendingStep;
    const words =
      id === undefined
        ? sentence`No one is logged in, and only a gateway-login node may start a login here. Send it a login first.`
        : sentence`The login waits for a code. Give it to a gateway-login node, then send this again.`;
    return new GatewayError('SECOND_FACTOR_REQUIRED', words, { sent: false, ...(id !== undefined && { resumeId: id }) });
  }
}

/** Of a pasted key that was refused. */
function expiredKey(): GatewayError {
  return new GatewayError(
    'UNAUTHORIZED',
    sentence`The API key in the settings has expired or was never valid. Enter a new one, or choose the realm login, which renews it by itself.`,
    { sent: false },
  );
}

function closed(): GatewayError {
  return new GatewayError('ABORTED', sentence`The gateway was closed or deployed anew before this was sent.`, { sent: false });
}
