import { isObject, type JsonObject } from '../model/json';
import type { Call } from '../model/operation';

/** What an appliance tells of itself; what it does not tell is null. */
export interface Identity {
  readonly 'serial-number': string | null;
  readonly 'host-name': string | null;
  readonly 'hardware-model': string | null;
  readonly release: string | null;
}

/** Serial number and release (appliance-api.md, "System information"). */
export async function readIdentity(call: Call): Promise<Identity> {
  const document = await call.read({ method: 'GET', path: '/api/v1/system/system-information' }, { lookUp: true });
  const nested = document['system-information'];
  const system: JsonObject = isObject(nested) ? nested : document;
  const textOf = (name: string): string | null => (typeof system[name] === 'string' && system[name] !== '' ? system[name] : null);
  return {
    'serial-number': textOf('serial-number'),
    'host-name': textOf('host-name'),
    'hardware-model': textOf('hardware-model'),
    release: textOf('os-version'),
  };
}
