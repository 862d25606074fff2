import type { Redactor } from '../model/redaction';
import type { SessionApiKey } from './session-api-key';
import type { PendingLogin } from './pending-login';

/** A full deploy closes every gateway and then makes it anew: for so long the key of an account outlives the last one that used it. */
const RETAIN_AFTER_CLOSE_MS = 90_000;
const MAX_ANSWERED_STEPS = 100;

/** What all gateways of one account share: one key, and one login however many wait for it. In memory only. */
export class AccountState {
  key: SessionApiKey | undefined;
  pendingLogin: PendingLogin | undefined;
  /** The `resume_id` of the step that waits for a code from a flow. */
  pendingStep: string | undefined;
  /** That of the step that nothing in the settings could answer. */
  unansweredStep: string | undefined;
  /** A key was refused, and none has been accepted since. */
  isKeyRefused = false;
  /** Wipes it when nobody has come for a while. */
  wipeTimer: NodeJS.Timeout | undefined;
  /** Settles when a pause that has just begun is remembered. */
  pauseUpdate: Promise<void> | undefined;
  /** Steps that had their answer: a flow that repeats a message must not send its code again. */
  readonly #answeredSteps = new Set<string>();
  /** Of the gateways that use it: each masks the key, whoever logged in for it. */
  readonly #redactors = new Set<Redactor>();

  get userCount(): number {
    return this.#redactors.size;
  }

  join(redactor: Redactor): void {
    this.#redactors.add(redactor);
    if (this.key) redactor.addTemporary(this.key.apiKey, `${this.key.apiKey}:`);
  }

  /** False when it had left before. */
  leave(redactor: Redactor): boolean {
    return this.#redactors.delete(redactor);
  }

  /** Has a key or a code masked in what all of them say from now on. */
  mask(...secrets: string[]): void {
    for (const redactor of this.#redactors) redactor.addTemporary(...secrets);
  }

  /** Marks a step as answered. False when it was before. */
  markAnswered(step: string): boolean {
    if (this.#answeredSteps.has(step)) return false;
    this.#answeredSteps.add(step);
    const [oldest] = this.#answeredSteps;
    if (this.#answeredSteps.size > MAX_ANSWERED_STEPS && oldest !== undefined) this.#answeredSteps.delete(oldest);
    return true;
  }

  /** Drops the key, a step that waits, and what a login that is under way will bring. */
  clear(): void {
    if (this.pendingLogin) this.pendingLogin.isDiscarded = true;
    this.pendingLogin = undefined;
    this.key = undefined;
    this.pendingStep = undefined;
    this.unansweredStep = undefined;
  }
}

const accounts = new Map<string, AccountState>();

/** The state of an account, shared by all who join under that name until they leave. */
export function joinAccount(accountKey: string, redactor: Redactor): AccountState {
  let state = accounts.get(accountKey);
  if (!state) accounts.set(accountKey, (state = new AccountState()));
  clearTimeout(state.wipeTimer);
  state.join(redactor);
  return state;
}

/** Of the last one to leave it is kept a while for those who come after a deploy, then nothing is. */
export function leaveAccount(accountKey: string, state: AccountState, redactor: Redactor): void {
  if (!state.leave(redactor) || state.userCount > 0) return;
  const wipe = (): void => {
    if (accounts.get(accountKey) === state) accounts.delete(accountKey);
    state.clear();
  };
  // Without anything to keep there is nothing to wait for.
  if (state.key || state.pendingStep !== undefined) state.wipeTimer = setTimeout(wipe, RETAIN_AFTER_CLOSE_MS).unref();
  else wipe();
}

/** How many accounts are kept, for tests. */
export function countCachedAccounts(): number {
  return accounts.size;
}

/** For tests: as if the process had just started. Gateways that exist keep what they have. */
export function resetAccounts(): void {
  accounts.clear();
}
