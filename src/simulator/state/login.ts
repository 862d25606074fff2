import { TotpVerifier } from '../totp';

/** Keys, pending logins and wrong passwords (appliance-api.md, "Authentication"). */
export interface ApiKey {
  readonly key: string;
  readonly username: string;
  /** The realm by name, since its settings may change while the key is in use. */
  readonly realm: string | undefined;
  /** Role and account by name too, because an import replaces the objects. */
  readonly role: string | undefined;
  /** The local auth server that holds the account; the key ends with the account. */
  readonly server: string | undefined;
  readonly issued: number;
  lastUsed: number;
}

export interface LoginInProgress {
  username: string;
  realm: string;
  remainingSteps: number;
}

export class LoginState {
  /** Keys by the Authorization header that presents them: one map look-up per request. */
  readonly keys = new Map<string, ApiKey>();
  readonly pending = new Map<string, LoginInProgress>();
  /** Wrong passwords in a row by account; the account locks at `lockAfter`. Delete an entry to unlock it. */
  readonly failures = new Map<string, number>();
  /** Directory groups by user; a user who is not in here is in every group. */
  readonly groups = new Map<string, ReadonlySet<string>>();
  readonly totp = new TotpVerifier();
  attempts = 0;

  revoke(username: string): void {
    for (const [header, key] of this.keys) if (key.username === username) this.keys.delete(header);
  }
}
