import type { SimulatorSettings } from '../options';
import { Refusal } from '../reply';
import type { Collection, Resource } from '../tree';
import { ADMIN_REALMS, type ConfigurationCopy, findCollection } from './build-copy';

/**
 * The administrator of a copy. Its password is not one of the original, so the account stands beside the tree. It follows what a change does
 * to the account and the realm of the same name: without them, it cannot log in either.
 */
export interface CopyAdministrator {
  /** Whether the original has the realm. */
  readonly hasRealm: boolean;
  /** The local auth server that has the account in the original. */
  readonly server: string | undefined;
}

export function findCopyAdministrator({ root }: ConfigurationCopy, settings: SimulatorSettings): CopyAdministrator {
  const realm = findCollection(root, ADMIN_REALMS)?.items.get(settings.realm);
  const server = realm && readText(realm, 'authentication-server');
  const hasAccount = server !== undefined && findLocalUsers(root, server)?.items.has(settings.username) === true;
  return { hasRealm: realm !== undefined, server: hasAccount ? server : undefined };
}

/** Throws if the realm or the account is gone or disabled since the start. */
export function checkCopyAdministrator(
  { root }: ConfigurationCopy,
  administrator: CopyAdministrator,
  realm: string,
  settings: SimulatorSettings,
): void {
  const realms = findCollection(root, ADMIN_REALMS);
  if (administrator.hasRealm && realms?.items.has(realm) !== true) throw new Refusal(401, 'Invalid realm');
  if (administrator.server === undefined) return;
  const account = findLocalUsers(root, administrator.server)?.items.get(settings.username);
  if (!account) throw new Refusal(401, 'Invalid username or password');
  if (readText(account, 'enabled') === 'false') throw new Refusal(401, 'The account is disabled');
}

/** The accounts of a local auth server. */
export function findLocalUsers(root: Resource, server: string): Collection | undefined {
  return findCollection(root, ['authentication', 'auth-servers', 'auth-server', server, 'local', 'users', 'user']);
}

function readText(resource: Resource, field: string): string | undefined {
  const value = Object.fromEntries(resource.fields())[field];
  return typeof value === 'string' ? value : undefined;
}
