import type { JsonObject } from '../../model/json';

/** `true` or `false` as text, as the appliance stores it. */
export type BooleanText = 'true' | 'false' | (string & {});

/** A local user without the password (appliance-api.md, "Local user"). A list can have only names and links: `name` and `href`. */
export interface UserRecord extends JsonObject {
  /** Identifies the user on the authentication server. */
  readonly username?: string;
  readonly fullname?: string;
  /** Whether the user may sign in. */
  readonly enabled?: BooleanText;
  /** Whether the user may use the console. */
  readonly 'console-access'?: BooleanText;
  /** Whether the user must choose a new password at the next sign-in. */
  readonly 'change-password-at-signin'?: BooleanText;
  /** Whether the account is disabled after the first sign-in. */
  readonly 'one-time-use'?: BooleanText;
  /** Name of the user in a list of links. */
  readonly name?: string;
  /** Path of the user in a list of links; null if the appliance gives none. */
  readonly href?: string | null;
}
