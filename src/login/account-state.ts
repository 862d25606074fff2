import { createHash } from 'node:crypto';
import type { Redactor } from '../model/redaction';
import type { PendingLogin, SessionApiKey } from './pending-login';
import type { CheckedSettings } from '../model/settings';
import { createProcessMap } from '../model/process-state';

/** Time for which the state of an account is kept. A full deploy closes every gateway and then recreates it. */
const RETAIN_AFTER_CLOSE_MS = 90_000;
const MAX_ANSWERED_STEPS = 100;

/** State that all gateways of one account share, in memory only: one key and one pending login. */
export class AccountState {
  key: SessionApiKey | undefined;
  pendingLogin: PendingLogin | undefined;
  /** The `resume_id` of the step that waits for a code from a flow. */
  pendingStep: string | undefined;
  /** The `resume_id` of a step that the settings cannot answer. */
  unansweredStep: string | undefined;
  /** Whether the latest key was refused and none has been accepted since. */
  isKeyRefused = false;
  /** Clears the state when no gateway has joined again. */
  wipeTimer: NodeJS.Timeout | undefined;
  /** Settles when the latest pause is stored. */
  pauseUpdate: Promise<void> | undefined;
  /** Login steps that a message has answered. If a flow repeats the message, its code must not be sent again. */
  readonly #answeredSteps = new Set<string>();
  /** Each gateway of the account masks the key, no matter which one logged in. */
  readonly #redactors = new Set<Redactor>();

  get userCount(): number {
    return this.#redactors.size;
  }

  join(redactor: Redactor): void {
    this.#redactors.add(redactor);
    if (this.key) redactor.addTemporary(this.key.apiKey, `${this.key.apiKey}:`);
  }

  /** Removes a redactor. Returns false when it had already left. */
  leave(redactor: Redactor): boolean {
    return this.#redactors.delete(redactor);
  }

  /** Masks a key or a code in all output of these gateways. */
  mask(...secrets: string[]): void {
    for (const redactor of this.#redactors) redactor.addTemporary(...secrets);
  }

  /** Records that a step was answered. Returns false when the step already had its answer. */
  markAnswered(step: string): boolean {
    if (this.#answeredSteps.has(step)) return false;
    this.#answeredSteps.add(step);
    const [oldest] = this.#answeredSteps;
    if (this.#answeredSteps.size > MAX_ANSWERED_STEPS && oldest !== undefined) this.#answeredSteps.delete(oldest);
    return true;
  }

  /** Drops the key, a pending step and the result of a pending login. */
  clear(): void {
    if (this.pendingLogin) this.pendingLogin.isDiscarded = true;
    this.pendingLogin = undefined;
    this.key = undefined;
    this.pendingStep = undefined;
    this.unansweredStep = undefined;
  }
}

const accounts = createProcessMap<AccountState>('accounts');

/** Returns the shared state of the account and joins it. */
export function joinAccountState(accountKey: string, redactor: Redactor): AccountState {
  let state = accounts.get(accountKey);
  if (!state) accounts.set(accountKey, (state = new AccountState()));
  clearTimeout(state.wipeTimer);
  state.join(redactor);
  return state;
}

/** Leaves the shared state. The last gateway to leave keeps the key there for the gateways of the next deploy. */
export function leaveAccountState(accountKey: string, state: AccountState, redactor: Redactor): void {
  if (!state.leave(redactor) || state.userCount > 0) return;
  const wipe = (): void => {
    if (accounts.get(accountKey) === state) accounts.delete(accountKey);
    state.clear();
  };
  // Without a key or a pending step, nothing needs to survive a deploy.
  if (state.key || state.pendingStep !== undefined) state.wipeTimer = setTimeout(wipe, RETAIN_AFTER_CLOSE_MS).unref();
  else wipe();
}

/** Hashes the credentials and the address. Every setting that a login uses changes the hash. */
export function hashAccount(settings: CheckedSettings): string {
  const { origin, prefix, login, realm, secondFactor, username, password, secondUsername, secondPassword, totpSecret } = settings;
  const parts = [origin, prefix, login, realm, secondFactor, username, password, secondUsername, secondPassword, totpSecret];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/**
 * Hashes everything that gateways must have in common to share a key. Behind another proxy, the same address may be another appliance. A
 * login may depend on the client certificate.
 */
export function createSharedSessionKey(settings: CheckedSettings): string {
  const { proxy, tls } = settings;
  const connectionParts = [proxy?.url, proxy?.username, proxy?.noproxy, tls?.servername, tls?.cert, tls?.pfx];
  return createHash('sha256')
    .update(JSON.stringify([hashAccount(settings), connectionParts]))
    .digest('hex');
}
