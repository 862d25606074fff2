import { isObject, type JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';

/** Facts that an appliance reports about itself; null when one is missing. */
export interface ApplianceIdentity {
  readonly 'serial-number': string | null;
  readonly 'host-name': string | null;
  readonly 'hardware-model': string | null;
  readonly release: string | null;
}

/** Reads serial number and release (appliance-api.md, "System information"). */
export async function readIdentity(call: OperationContext): Promise<ApplianceIdentity> {
  const document = await call.read({ method: 'GET', path: '/api/v1/system/system-information' }, { isLookup: true });
  const system = unwrapSystemInformation(document);
  const readText = (name: string): string | null => (typeof system[name] === 'string' && system[name] !== '' ? system[name] : null);
  return {
    'serial-number': readText('serial-number'),
    'host-name': readText('host-name'),
    'hardware-model': readText('hardware-model'),
    release: readText('os-version'),
  };
}

/** Returns the fields of the document. Some releases wrap them in `system-information`, others do not. */
export function unwrapSystemInformation(document: JsonObject): JsonObject {
  const { 'system-information': nested } = document;
  return isObject(nested) ? nested : document;
}
