import type { Transport } from '../http/transport';
import type { AbortSignalLike } from '../model/abort';
import type { Coordination } from '../model/coordination';
import { asGatewayError, GatewayError } from '../model/error';
import type { LoginState } from '../model/operation';
import type { Redactor } from '../model/redaction';
import { trusted, safeMessage } from '../model/safe-message';
import type { CheckedSettings } from '../model/settings';
import { AccountState, joinAccountState, leaveAccountState, createSharedSessionKey } from './account-state';
import { BackOff } from './back-off';
import { LoginExchange, type LoginStepResult } from './login-exchange';
import { PendingLogin, SessionApiKey } from './pending-login';
import { reserveOneTimeCode, type OneTimeCode } from './one-time-codes';

export type { SessionApiKey } from './pending-login';

interface SessionOptions {
  /** Logs in separately from the account's shared key, to prove that a login works. */
  readonly isolatedLogin?: boolean | undefined;
}

type LoginWork = (login: PendingLogin) => Promise<SessionApiKey>;

/**
 * Manages the API key of one appliance (appliance-api.md, "Authentication"). All gateways of an account share one login, log in at most
 * once after a 401, and pause after a failed login. The key stays in memory.
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
    this.#accountKey = createSharedSessionKey(settings);
    this.#backOff = new BackOff(settings, coordination);
    if (isolatedLogin || settings.login === 'key') {
      this.#accountState = new AccountState();
      this.#accountState.join(redactor);
      if (settings.login === 'key') this.#accountState.key = new SessionApiKey(settings.apiKey ?? '');
    } else this.#accountState = joinAccountState(this.#accountKey, redactor);
  }

  /** The present key, available without a promise. */
  get currentKey(): SessionApiKey | undefined {
    return this.#accountState.key;
  }

  /**
   * Returns the key and logs in if needed. Only the caller that starts the login gets the `onLogin` call. A canceled caller leaves at once;
   * when none is left, the login takes no further step.
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
        // Only the gateway that ran the shared login was closed, so this caller tries again.
        if (!login || asGatewayError(thrown).code !== 'ABORTED' || signal?.aborted) throw thrown;
      }
    }
  }

  /** Any response except a refusal or a server fault shows that the appliance accepts the key. */
  recordResponse(key: SessionApiKey, status: number): void {
    if (key.isAccepted || status === 401 || status === 403 || status < 200 || status > 499) return;
    key.isAccepted = true;
    this.#accountState.isKeyRefused = false;
    // An entry that cannot be removed now expires.
    this.#backOff.recordSuccess().catch(() => undefined);
  }

  /**
   * Handles a 401. Returns true when another key may succeed: a newer one, or that of a new login. Returns false when this fresh key
   * followed a refused one; logins then pause. Keeps the key when no other can be obtained. Errors: `LOGIN_PAUSED`.
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

  /** Handles a 401 to the replay with a fresh key: logins pause and the key stays. */
  async rejectReplay(key: SessionApiKey): Promise<void> {
    const state = this.#accountState;
    if (state.key !== key) return;
    if (!key.rejectedWhenFresh) state.pauseUpdate = this.#backOff.pause('UNAUTHORIZED', 401).catch(() => undefined);
    key.rejectedWhenFresh = true;
    await state.pauseUpdate;
  }

  /**
   * Returns true when a 403 without a result envelope may mean an expired key (contract, "Errors"). The key must have been accepted before,
   * and no such login may have been futile within ten minutes.
   */
  async mayBeExpired(key: SessionApiKey): Promise<boolean> {
    return key.isAccepted && this.#settings.login !== 'key' && (await this.#backOff.canRenewAfterForbidden());
  }

  /** Records a login that did not resolve a 403, which prevents another for ten minutes. */
  recordFutileRenewal(): Promise<void> {
    return this.#backOff.recordFutileRenewal();
  }

  /** Runs the explicit login of `gateway-login`. If a login already waits for a code, returns its id and starts no other one. */
  async login(onLogin: () => void, signal?: AbortSignalLike): Promise<LoginState> {
    const state = this.#accountState;
    if (state.key) return { state: 'ready' };
    if (state.pendingStep !== undefined) return { state: 'pending', resumeId: state.pendingStep };
    // Callers that wait for the key learn from the rejected login that a code is needed.
    if (this.#settings.secondFactor !== 'flow' || this.#findJoinableLogin()) return this.#toLoginState(this.key(onLogin, signal));
    const work: LoginWork = async (self) => this.#toKeyOrPendingStep(await this.#exchange.sendCredentials(), self);
    return this.#toLoginState(this.#startLogin(work, onLogin).waitForKey(signal));
  }

  /** Answers the pending step. The code counts as spent and the step as finished, whatever the outcome. */
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
        safeMessage`This login step already had its answer, and a code is not sent twice. Send a new login first.`,
        { sent: false },
      );
    state.pendingStep = undefined;
    const work: LoginWork = async (self) => this.#toKeyOrPendingStep(await this.#sendAnswer(step, code), self);
    return this.#toLoginState(this.#startLogin(work, onLogin, false).waitForKey(undefined));
  }

  /** Drops the key and a pending step. A running login does not restore them. */
  forget(): LoginState {
    if (this.#settings.login !== 'key') this.#accountState.clear();
    return { state: 'none' };
  }

  /** Ends a wait for a code. Other gateways of the account keep the key, and it survives a deploy. */
  close(): void {
    this.#closing.abort();
    leaveAccountState(this.#accountKey, this.#accountState, this.#redactor);
  }

  async #throwIfPaused(): Promise<void> {
    await this.#accountState.pauseUpdate;
    await this.#backOff.throwIfPaused(this.#accountState.unansweredStep);
  }

  /** Returns the pending login whose key will be kept. */
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
        // The pause is stored first, so that the next caller meets it.
        await this.#backOff.recordFailure(error).catch(() => undefined);
        throw error;
      } finally {
        if (state.pendingLogin === self) state.pendingLogin = undefined;
      }
    });
    state.pendingLogin = login;
    return login;
  }

  /** Returns the key, or the pending step. Further steps wait for an answer from a flow. */
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

  /** Answers the second step from the settings. */
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
      'The appliance accepted the second factor and asks for another step, which the settings cannot answer.',
    );
  }

  #sendAnswer(resumeId: string, answer: string): Promise<LoginStepResult> {
    const { username = '', secondUsername } = this.#settings;
    const answerUsername = secondUsername || username;
    // A code becomes a secret here; a fixed password already is one.
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
          : safeMessage` The clock of this machine was set back by ${Math.round(clockSetBackMs / 1000)} s or more.`;
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
        ? safeMessage`Nobody is logged in, and with this second factor only a gateway-login node can log in. Send it a login first.`
        : safeMessage`The login waits for a code. Give it to a gateway-login node, then send this again.`;
    return new GatewayError('SECOND_FACTOR_REQUIRED', words, { sent: false, ...(id !== undefined && { resumeId: id }) });
  }
}

/** Creates the error for a pasted key that the appliance refused. */
function expiredKeyError(): GatewayError {
  return new GatewayError(
    'UNAUTHORIZED',
    safeMessage`The API key in the settings has expired or was never valid. Enter a new one, or choose the realm login, which renews it by itself.`,
    { sent: false },
  );
}

function closedError(): GatewayError {
  return new GatewayError('ABORTED', safeMessage`The gateway was closed or redeployed before this request was sent.`, { sent: false });
}
