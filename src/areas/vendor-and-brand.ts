import { GatewayError } from '../model/error';
import type { OperationContext } from '../model/operation';
import { parseSessionPage } from './sessions/session-page';
import { isObject } from '../model/json';
import { trusted, safeMessage } from '../model/safe-message';

/**
 * Returns the brand for `exclude<Brand>Packages`: the configured one, or the word before `-client-version` in a session record, with a
 * capital letter (contract, section 3). Errors: `BAD_CONFIG` without a session that shows the brand.
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
      'brand is not set, and no current session shows it. Enter the brand in the settings of the appliance.',
    );
  });
}

/**
 * Returns the vendor for `<vendor>-enforcer`: the configured one, or that of the only such key of `GET /configuration/uac`.
 * Errors: `BAD_CONFIG` without a key, or with two candidates.
 */
export async function resolveVendor(call: OperationContext): Promise<string> {
  const configured = call.settings.vendor;
  if (configured) return configured;
  return call.memoize('vendor', async () => {
    const document = await call.read({ method: 'GET', path: '/api/v1/configuration/uac' }, { isLookup: true });
    const candidates = Object.keys(document).filter(
      (key) => key.endsWith('-enforcer') && key !== 'host-enforcer' && isObject(document[key]),
    );
    if (candidates.length === 1 && candidates[0]) return candidates[0].slice(0, -'-enforcer'.length);
    const reason =
      candidates.length === 0
        ? trusted('no key of the uac configuration ends in -enforcer')
        : safeMessage`there are several candidates: ${candidates.join(', ')}`;
    throw new GatewayError(
      'BAD_CONFIG',
      safeMessage`vendor is not set and cannot be found: ${reason}. Enter the vendor in the settings of the appliance.`,
    );
  });
}

function upperFirst(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
