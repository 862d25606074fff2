import type { Redactor } from '../model/redaction';
import type { Key } from './key';
import type { LoginUnderWay } from './login-under-way';

/** A full deploy closes every gateway and then makes it anew: for so long the key of an account outlives the last one that used it. */
const OUTLIVES_MS = 90_000;
const MOST_ANSWERED = 100;

/** What all gateways of one account share: one key, and one login however many wait for it. In memory only. */
export class AccountState {
  key: Key | undefined;
  login: LoginUnderWay | undefined;
  /** The `resume_id` of the step that waits for a code from a flow. */
  pendingStep: string | undefined;
  /** That of the step that nothing in the settings could answer. */
  unansweredStep: string | undefined;
  /** A key was refused, and none has been accepted since. */
  keyRefused = false;
  /** Wipes it when nobody has come for a while. */
  wiping: NodeJS.Timeout | undefined;
  /** Settles when a pause that has just begun is remembered. */
  pausing: Promise<void> | undefined;
  /** Steps that had their answer: a flow that repeats a message must not send its code again. */
  readonly #answered = new Set<string>();
  /** Of the gateways that use it: each masks the key, whoever logged in for it. */
  readonly #redactors = new Set<Redactor>();

  get users(): number {
    return this.#redactors.size;
  }

  join(redactor: Redactor): void {
    this.#redactors.add(redactor);
    if (this.key) redactor.addPassing(this.key.apiKey, `${this.key.apiKey}:`);
  }

  /** False when it had left before. */
  leave(redactor: Redactor): boolean {
    return this.#redactors.delete(redactor);
  }

  /** Has a key or a code masked in what all of them say from now on. */
  mask(...secrets: string[]): void {
    for (const redactor of this.#redactors) redactor.addPassing(...secrets);
  }

  /** Marks a step as answered. False when it was before. */
  answer(step: string): boolean {
    if (this.#answered.has(step)) return false;
    this.#answered.add(step);
    const [oldest] = this.#answered;
    if (this.#answered.size > MOST_ANSWERED && oldest !== undefined) this.#answered.delete(oldest);
    return true;
  }

  /** Drops the key, a step that waits, and what a login that is under way will bring. */
  forget(): void {
    if (this.login) this.login.forgotten = true;
    this.login = undefined;
    this.key = undefined;
    this.pendingStep = undefined;
    this.unansweredStep = undefined;
  }
}

const accounts = new Map<string, AccountState>();

/** The state of an account, shared by all who join under that name until they leave. */
export function joinAccount(account: string, redactor: Redactor): AccountState {
  let state = accounts.get(account);
  if (!state) accounts.set(account, (state = new AccountState()));
  clearTimeout(state.wiping);
  state.join(redactor);
  return state;
}

/** Of the last one to leave it is kept a while for those who come after a deploy, then nothing is. */
export function leaveAccount(account: string, state: AccountState, redactor: Redactor): void {
  if (!state.leave(redactor) || state.users > 0) return;
  const wipe = (): void => {
    if (accounts.get(account) === state) accounts.delete(account);
    state.forget();
  };
  // Without anything to keep there is nothing to wait for.
  if (state.key || state.pendingStep !== undefined) state.wiping = setTimeout(wipe, OUTLIVES_MS).unref();
  else wipe();
}

/** How many accounts are kept, for tests. */
export function accountsKept(): number {
  return accounts.size;
}

/** For tests: as if the process had just started. Gateways that exist keep what they have. */
export function forgetAccounts(): void {
  accounts.clear();
}
