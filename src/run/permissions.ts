import { GatewayError } from '../model/error';
import type { Operation } from '../model/operation';
import type { Request } from '../model/request';
import type { Permissions } from '../model/rules';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';

/** Lets a write through, or throws. */
export type CheckPermission = (request: Request) => void;

const REASON_BY_PERMISSION: Readonly<Record<Exclude<Permissions, 'full'>, string>> = {
  'read-only': 'The appliance node may only read',
  'no-destroy': 'The appliance node lets through nothing that ends, removes or replaces something',
};

/**
 * What the settings of the appliance forbid, whatever a flow asks (contract, section 3), dry runs included: a plan that may not be carried
 * out is none. Errors: `LIMIT` for an operation that they do not let through; nothing was sent.
 */
export function assertOperationAllowed(name: string, { effect }: Operation, permissions: Permissions): void {
  // A login changes nothing, and nothing could be read without it.
  if (permissions === 'full' || effect === 'read' || name.startsWith('login.')) return;
  if (permissions === 'read-only' || effect === 'destroy')
    throw createForbiddenError(permissions, safeMessage`${trusted(name)} is not let through`);
}

/**
 * The same for each write by itself: an operation may do more than its effect says (of many resources one may have to be absent), and some
 * writes belong to none. Undefined where everything is allowed.
 */
export function createPermissionCheck(permissions: Permissions): CheckPermission | undefined {
  if (permissions === 'full') return undefined;
  return ({ method, path }) => {
    if (permissions === 'read-only' || method === 'DELETE')
      throw createForbiddenError(permissions, safeMessage`${trusted(method)} ${path} is not let through`);
  };
}

function createForbiddenError(permissions: Exclude<Permissions, 'full'>, subject: SafeMessage): GatewayError {
  const message = safeMessage`${subject}. ${trusted(REASON_BY_PERMISSION[permissions])}: its permissions are ${trusted(permissions)}. Nothing was sent.`;
  return new GatewayError('LIMIT', message, { sent: false });
}
