import { GatewayError } from '../model/error';
import type { Operation } from '../model/operation';
import type { Request } from '../model/request';
import type { Permissions } from '../model/rules';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';

/** Throws when the settings forbid a write. */
export type CheckPermission = (request: Request) => void;

const REASON_BY_PERMISSION: Readonly<Record<Exclude<Permissions, 'full'>, string>> = {
  'read-only': 'The appliance node may only read',
  'no-destroy': 'The appliance node allows nothing that ends, removes or replaces something',
};

/**
 * Enforces the permissions of the appliance node for an operation, dry runs included (contract, section 3). Errors: `LIMIT` for a forbidden
 * operation; nothing was sent.
 */
export function assertOperationAllowed(name: string, { effect }: Operation, permissions: Permissions): void {
  // A login changes nothing, and nothing could be read without it.
  if (permissions === 'full' || effect === 'read' || name.startsWith('login.')) return;
  if (permissions === 'read-only' || effect === 'destroy')
    throw createForbiddenError(permissions, safeMessage`${trusted(name)} is not allowed`);
}

/**
 * Enforces the permissions for each single write, because an operation may do more than its effect says, and some writes belong to no
 * operation. Undefined when everything is allowed.
 */
export function createPermissionCheck(permissions: Permissions): CheckPermission | undefined {
  if (permissions === 'full') return undefined;
  return ({ method, path }) => {
    if (permissions === 'read-only' || method === 'DELETE')
      throw createForbiddenError(permissions, safeMessage`${trusted(method)} ${path} is not allowed`);
  };
}

function createForbiddenError(permissions: Exclude<Permissions, 'full'>, subject: SafeMessage): GatewayError {
  const message = safeMessage`${subject}. ${trusted(REASON_BY_PERMISSION[permissions])}: its permissions are ${trusted(permissions)}. Nothing was sent.`;
  return new GatewayError('LIMIT', message, { sent: false, statusReason: 'not-permitted' });
}
