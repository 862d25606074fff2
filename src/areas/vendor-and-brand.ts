import { GatewayError } from '../model/error';
import type { OperationContext } from '../model/operation';
import { parseSessionPage } from './sessions/session-page';
import { isObject } from '../model/json';
import { trusted, safeMessage } from '../model/safe-message';

/**
 * The brand in `exclude<Brand>Packages`: as configured, else the word before `-client-version` in a session record, first letter
 * upper-cased (contract, section 3). Errors: `BAD_CONFIG` when there is no session to learn it from.
 */
export async function resolveBrand(call: OperationContext): Promise<string> {
  const configured = call.settings.brand;
  if (configured) return upperFirst(configured);
  return call.memoize('brand', async () => {
    const document = await call.read(
      { method: 'GET', path: '/api/v1/system/active-users', query: { number: '200', start: '0' } },
      { isLookup: true },
    );
    for (const record of parseSessionPage(document).records) {
      const key = Object.keys(record).find((name) => name.endsWith('-client-version'));
      if (key) return upperFirst(key.slice(0, -'-client-version'.length));
    }
    throw new GatewayError(
      'BAD_CONFIG',
      'brand is not set, and no session tells it now. Enter the brand in the settings of the appliance.',
    );
  });
}

/**
 * The vendor in `<vendor>-enforcer`: as configured, else found from the one key of `GET /configuration/uac` that ends so.
 * Errors: `BAD_CONFIG` when there is none, or naming two candidates.
 */
export async function resolveVendor(call: OperationContext): Promise<string> {
  const configured = call.settings.vendor;
  if (configured) return configured;
  return call.memoize('vendor', async () => {
    const document = await call.read({ method: 'GET', path: '/api/v1/configuration/uac' }, { isLookup: true });
    const found = Object.keys(document).filter((key) => key.endsWith('-enforcer') && key !== 'host-enforcer' && isObject(document[key]));
    if (found.length === 1 && found[0]) return found[0].slice(0, -'-enforcer'.length);
    const reason =
      found.length === 0
        ? trusted('no key of the uac configuration ends in -enforcer')
        : safeMessage`there are several candidates: ${found.join(', ')}`;
    throw new GatewayError(
      'BAD_CONFIG',
      safeMessage`vendor is not set and cannot be found: ${reason}. Enter the vendor in the settings of the appliance.`,
    );
  });
}

function upperFirst(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
