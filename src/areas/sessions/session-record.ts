import type { JsonObject } from '../../model/json';

/**
 * An active session as the appliance reports it (appliance-api.md, "Active user record"). Only the id is certain: a search by name leaves
 * out some fields, and a release can have others.
 */
export interface SessionRecord extends JsonObject {
  /** Identifies the session, for `sessions.kill`. */
  readonly 'session-id': string;
  /** Name of the signed-in user. */
  readonly 'active-user-name'?: string;
  readonly 'active-secondary-user-name'?: string | null;
  /** The client program. */
  readonly 'agent-type'?: string;
  readonly 'authentication-realm'?: string;
  readonly 'browser-id'?: string;
  readonly 'device-id'?: string | null;
  /** Text with several lines. */
  readonly 'endpoint-security-status'?: string;
  readonly events?: number;
  /** Why the host checker rejected the device. */
  readonly 'hc-failed-reasons'?: string | null;
  /** Cluster member of the session. */
  readonly 'login-node'?: string;
  readonly 'mac-address'?: string | null;
  /** Address in the tunnel. */
  readonly 'network-connect-ip'?: string | null;
  readonly 'network-connect-ipv6'?: string | null;
  readonly 'network-connect-transport-mode'?: string | null;
  readonly 'ngp-session-id'?: string;
  readonly 'primary-auth-server-name'?: string;
  readonly 'primary-auth-server-type'?: string;
  readonly 'secondary-auth-server-name'?: string | null;
  readonly 'secondary-auth-server-type'?: string | null;
  /** Time of the sign-in: seconds since 1970 with microseconds, as text. */
  readonly 'sign-in-time-micro'?: string;
  /** Address from which the user connects. */
  readonly 'source-ip'?: string;
  readonly 'user-roles'?: string;
  /** Local time of the sign-in, `YYYY/MM/DD HH:MM:SS`. */
  readonly 'user-sign-in-time'?: string;
}
