import type { Transport } from '../http/transport';
import type { AbortSignalLike } from '../model/abort';
import type { Coordination } from '../model/coordination';
import { asGatewayError, GatewayError } from '../model/error';
import type { LoginState } from '../model/operation';
import type { Redactor } from '../model/redaction';
import { trusted, safeMessage } from '../model/safe-message';
import type { CheckedSettings } from '../model/settings';
import { sessionKey } from './account-key';
import { AccountState, joinAccount, leaveAccount } from './account-state';
import { SessionApiKey } from './session-api-key';
import { BackOff } from './back-off';
import { LoginExchange, type LoginStepResult } from './login-exchange';
import { PendingLogin } from './pending-login';
import { reserveOneTimeCode, type OneTimeCode } from './one-time-codes';

export type { SessionApiKey } from './session-api-key';

export interface SessionOptions {
  /** Logs in by itself, whatever key there is for the account: to prove that a login works. */
  readonly isolatedLogin?: boolean | undefined;
}

type LoginWork = (login: PendingLogin) => Promise<SessionApiKey>;

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
  readonly #accountKey: string;
  readonly #accountState: AccountState;
  readonly #closing = new AbortController();

  constructor(
    settings: CheckedSettings,
    transport: Transport,
    redactor: Redactor,
    coordination: Coordination,
    { isolatedLogin = false }: SessionOptions = {},
  ) {
    this.#settings = settings;
    this.#redactor = redactor;
    this.#coordination = coordination;
    this.#exchange = new LoginExchange(settings, transport);
    this.#accountKey = sessionKey(settings);
    this.#backOff = new BackOff(settings, coordination);
    if (isolatedLogin || settings.login === 'key') {
      this.#accountState = new AccountState();
      this.#accountState.join(redactor);
      if (settings.login === 'key') this.#accountState.key = new SessionApiKey(settings.apiKey ?? '');
    } else this.#accountState = joinAccount(this.#accountKey, redactor);
  }

  /** The key if there is one: the fast way, without a promise. */
  get currentKey(): SessionApiKey | undefined {
    return this.#accountState.key;
  }

  /**
   * The key, after a login if need be. `onLogin` is called by the one caller whose call starts it. Whoever is cancelled by the signal
   * leaves at once; when nobody is left, no further step is taken.
   */
  async key(onLogin: () => void, signal?: AbortSignalLike): Promise<SessionApiKey> {
    for (;;) {
      if (this.#closing.signal.aborted) throw closedError();
      const { key } = this.#accountState;
      if (key) return key;
      const login = this.#findJoinableLogin();
      if (this.#settings.login === 'key') throw expiredKeyError();
      if (!login && this.#settings.secondFactor === 'flow') throw this.#loginNodeRequired();
      const work: LoginWork = async (self) => {
        const step = await this.#exchange.sendCredentials();
        return 'key' in step ? step.key : this.#answerSecondStep(step.resumeId, self);
      };
      try {
        return await (login ?? this.#startLogin(work, onLogin)).waitForKey(signal);
      } catch (thrown) {
        // The gateway that logged in for all was closed; this one was not, nor was its caller cancelled.
        if (!login || asGatewayError(thrown).code !== 'ABORTED' || signal?.aborted) throw thrown;
      }
    }
  }

  /** What a request with this key was answered: any answer but a refusal or a fault shows that the appliance takes it. */
  recordResponse(key: SessionApiKey, status: number): void {
    if (key.isAccepted || status === 401 || status === 403 || status < 200 || status > 499) return;
    key.isAccepted = true;
    this.#accountState.isKeyRefused = false;
    // What cannot be forgotten now ends by itself.
    this.#backOff.recordSuccess().catch(() => undefined);
  }

  /**
   * A 401 to a request. True when another key may answer it: one that came meanwhile (a 401 only invalidates the key that it was sent
   * with), or that of a new login. False when this key is fresh and came because another was refused: the refusal is the outcome, and
   * logins pause. A key is only given up where another can be had. Errors: `LOGIN_PAUSED`.
   */
  async handleUnauthorized(key: SessionApiKey): Promise<boolean> {
    const state = this.#accountState;
    if (state.key !== key) return true;
    if (this.#settings.login !== 'key') {
      if (state.isKeyRefused && !key.isAccepted && !key.rejectedWhenFresh) {
        await this.rejectReplay(key);
        return false;
      }
      await this.#throwIfPaused();
    }
    if (state.key === key) {
      state.key = undefined;
      state.isKeyRefused = true;
    }
    return true;
  }

  /** A 401 to the replay of a request, by the key of a login that was made because of the first one: logins pause. The key stays. */
  async rejectReplay(key: SessionApiKey): Promise<void> {
    const state = this.#accountState;
    if (state.key !== key) return;
    if (!key.rejectedWhenFresh) state.pauseUpdate = this.#backOff.pause('UNAUTHORIZED', 401).catch(() => undefined);
    key.rejectedWhenFresh = true;
    await state.pauseUpdate;
  }

  /**
   * Whether a 403 without a result envelope may mean that this key has died (contract, "Errors"): it had been accepted, and no login
   * because of such a 403 has been in vain for ten minutes.
   */
  async mayBeExpired(key: SessionApiKey): Promise<boolean> {
    return key.isAccepted && this.#settings.login !== 'key' && (await this.#backOff.canRenewAfterForbidden());
  }

  /** A login because of such a 403 was in vain: for ten minutes there is no other one because of that. */
  recordFutileRenewal(): Promise<void> {
    return this.#backOff.recordFutileRenewal();
  }

  /** Explicit login of `gateway-login`. A login that is pending already is not started again. */
  async login(onLogin: () => void, signal?: AbortSignalLike): Promise<LoginState> {
    const state = this.#accountState;
    if (state.key) return { state: 'ready' };
    if (state.pendingStep !== undefined) return { state: 'pending', resumeId: state.pendingStep };
    // Whoever waits for the key meanwhile learns from the login, which rejects, that a code is needed.
    if (this.#settings.secondFactor !== 'flow' || this.#findJoinableLogin()) return this.#toLoginState(this.key(onLogin, signal));
    const work: LoginWork = async (self) => this.#toKeyOrPendingStep(await this.#exchange.sendCredentials(), self);
    return this.#toLoginState(this.#startLogin(work, onLogin).waitForKey(signal));
  }

  /** Answers the pending step. Whatever becomes of it, the code is spent and the step over. */
  async resume(code: string, resumeId: string | undefined, onLogin: () => void): Promise<LoginState> {
    const state = this.#accountState;
    const step = resumeId ?? state.pendingStep;
    if (step === undefined)
      throw new GatewayError('BAD_INPUT', safeMessage`No login is waiting for a code. Send a login first, then resume it.`, {
        sent: false,
      });
    if (!state.markAnswered(step))
      throw new GatewayError(
        'BAD_INPUT',
        safeMessage`That login step has had its answer, and a code is not sent twice. Send a new login first.`,
        { sent: false },
      );
    state.pendingStep = undefined;
    const work: LoginWork = async (self) => this.#toKeyOrPendingStep(await this.#sendAnswer(step, code), self);
    return this.#toLoginState(this.#startLogin(work, onLogin, false).waitForKey(undefined));
  }

  /** Drops the key and a pending step; a login that is under way does not bring them back. */
  forget(): LoginState {
    if (this.#settings.login !== 'key') this.#accountState.clear();
    return { state: 'none' };
  }

  /** Ends a wait for a code. The key stays for the other gateways of the account, and a while for those after a deploy. */
  close(): void {
    this.#closing.abort();
    leaveAccount(this.#accountKey, this.#accountState, this.#redactor);
  }

  async #throwIfPaused(): Promise<void> {
    await this.#accountState.pauseUpdate;
    await this.#backOff.throwIfPaused(this.#accountState.unansweredStep);
  }

  /** The login to wait for, if there is one whose key will stay. */
  #findJoinableLogin(): PendingLogin | undefined {
    const { pendingLogin } = this.#accountState;
    return pendingLogin?.isDiscarded ? undefined : pendingLogin;
  }

  #startLogin(work: LoginWork, onLogin: () => void, shouldCheckPause = true): PendingLogin {
    const state = this.#accountState;
    const login = new PendingLogin(async (self) => {
      try {
        if (shouldCheckPause) await this.#throwIfPaused();
        onLogin();
        const key = await work(self);
        state.mask(key.apiKey, `${key.apiKey}:`);
        if (!self.isDiscarded) state.key = key;
        return key;
      } catch (thrown) {
        const error = asGatewayError(thrown);
        // Before anybody learns of it: the next one meets the pause.
        await this.#backOff.recordFailure(error).catch(() => undefined);
        throw error;
      } finally {
        if (state.pendingLogin === self) state.pendingLogin = undefined;
      }
    });
    state.pendingLogin = login;
    return login;
  }

  /** A flow answers further steps: they wait for it. */
  #toKeyOrPendingStep(step: LoginStepResult, login: PendingLogin): SessionApiKey {
    if ('key' in step) return step.key;
    if (!login.isDiscarded) this.#accountState.pendingStep = step.resumeId;
    throw this.#loginNodeRequired();
  }

  async #toLoginState(key: Promise<SessionApiKey>): Promise<LoginState> {
    try {
      await key;
      return { state: 'ready' };
    } catch (error) {
      const { pendingStep } = this.#accountState;
      if (pendingStep !== undefined) return { state: 'pending', resumeId: pendingStep };
      throw error;
    }
  }

  /** The key, after the one answer that the settings have for a further step. */
  async #answerSecondStep(resumeId: string, login: PendingLogin): Promise<SessionApiKey> {
    const { secondFactor, secondPassword = '' } = this.#settings;
    if (secondFactor === 'none')
      throw await this.#unansweredStepError(
        resumeId,
        'The appliance asks for a second factor, but the settings have none. Choose one there.',
      );
    const step =
      secondFactor === 'totp' ? await this.#answerWithOneTimeCode(resumeId, login) : await this.#sendAnswer(resumeId, secondPassword);
    if ('key' in step) return step.key;
    throw await this.#unansweredStepError(
      step.resumeId,
      'The appliance took the second factor and asks for yet another step, which nothing here can answer.',
    );
  }

  #sendAnswer(resumeId: string, answer: string): Promise<LoginStepResult> {
    const { username = '', secondUsername } = this.#settings;
    const answerUsername = secondUsername || username;
    // A code is known as a secret from here on; a fixed password is anyway.
    if (answer !== this.#settings.secondPassword) this.#accountState.mask(answer, `${answerUsername}:${answer}`);
    return this.#exchange.answerStep(resumeId, answerUsername, answer);
  }

  async #answerWithOneTimeCode(resumeId: string, login: PendingLogin): Promise<LoginStepResult> {
    const { totpSecret = '' } = this.#settings;
    const wait = (signal: AbortSignal): Promise<OneTimeCode> => reserveOneTimeCode(totpSecret, this.#coordination, signal);
    const oneTimeCode = await login.runWhileAwaited(this.#closing.signal, wait);
    try {
      return await this.#sendAnswer(resumeId, oneTimeCode.code);
    } catch (thrown) {
      const error = asGatewayError(thrown);
      if (error.details.sent === false) await oneTimeCode.release();
      if (error.code !== 'LOGIN_REJECTED') throw error;
      const { clockSetBackMs } = oneTimeCode;
      const clockHint =
        clockSetBackMs === undefined
          ? trusted('')
          : safeMessage` This one was set back, by ${Math.round(clockSetBackMs / 1000)} s or more.`;
      const words = safeMessage`${error} Codes depend on the time: compare the clocks of the appliance and of this machine.${clockHint}`;
      throw new GatewayError(error.code, words, error.details);
    }
  }

  async #unansweredStepError(resumeId: string, words: string): Promise<GatewayError> {
    this.#accountState.unansweredStep = resumeId;
    await this.#backOff.pause('SECOND_FACTOR_REQUIRED', undefined);
    return new GatewayError('SECOND_FACTOR_REQUIRED', trusted(words), { resumeId, sent: false });
  }

  #loginNodeRequired(): GatewayError {
    const id = this.#accountState.pendingStep;
    const words =
      id === undefined
        ? safeMessage`No one is logged in, and only a gateway-login node may start a login here. Send it a login first.`
        : safeMessage`The login waits for a code. Give it to a gateway-login node, then send this again.`;
    return new GatewayError('SECOND_FACTOR_REQUIRED', words, { sent: false, ...(id !== undefined && { resumeId: id }) });
  }
}

/** Of a pasted key that was refused. */
function expiredKeyError(): GatewayError {
  return new GatewayError(
    'UNAUTHORIZED',
    safeMessage`The API key in the settings has expired or was never valid. Enter a new one, or choose the realm login, which renews it by itself.`,
    { sent: false },
  );
}

function closedError(): GatewayError {
  return new GatewayError('ABORTED', safeMessage`The gateway was closed or deployed anew before this was sent.`, { sent: false });
}
