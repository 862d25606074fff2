import type { JsonObject } from '../model/json';

/** A client of a license server. */
export interface LicenseClient extends JsonObject {
  readonly name?: string;
  readonly 'leased-count'?: number;
}

/** A license that a license server leases to its clients. */
export interface License extends JsonObject {
  readonly name?: string;
  /** Number of licenses that the server has. */
  readonly 'total-count'?: number;
  /** Clients with their leases. A single client can come without an array. */
  readonly clients?: { readonly 'client-info'?: readonly LicenseClient[] | LicenseClient };
}

/** The leases of a license server (appliance-api.md, "License lease information"). */
export interface LeaseInformation extends JsonObject {
  readonly 'leased-license-counts'?: {
    /** A single license can come without an array. */
    readonly features?: { readonly feature?: readonly License[] | License };
    readonly 'machine-id'?: string;
    readonly 'release-info'?: { readonly 'build-number'?: string; readonly version?: string };
    readonly 'serial-number'?: string | null;
    readonly signature?: string;
    /** Date and time as text. */
    readonly 'time-stamp'?: string;
  };
}

/** A user that holds a license. */
export interface NamedUser extends JsonObject {
  readonly User?: string;
  readonly Role?: string;
  readonly Appliance?: string;
  readonly 'Login Realm'?: string;
  readonly 'Last Login IP'?: string;
  /** `YYYY-MM-DD HH:MM:SS`. */
  readonly 'Last Login time'?: string;
  readonly 'User Agent'?: string;
}

/** The named users of an appliance. A license server has a property for each kind of client instead, with the same content. */
export interface NamedUserList extends JsonObject {
  readonly 'named-users'?: readonly NamedUser[];
}
