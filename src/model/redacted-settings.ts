import type { JsonObject } from './json';
import type { CheckedSettings } from './settings';

/**
 * Settings for a support bundle: without secrets, names, addresses, accounts, serial numbers and paths. For those it reports whether they
 * are set.
 */
export function redactSettings(settings: CheckedSettings): JsonObject {
  const { origin, prefix, login, secondFactor, tls, proxy, timeout, transferTimeout, connections, permissions, rate, waiting } = settings;
  const { protocol, port } = new URL(origin);
  const isSet = (value: unknown): boolean => value !== undefined && value !== '' && value !== false;
  return {
    url: `${protocol}//…${port === '' ? '' : `:${port}`}${prefix === '' ? '' : '/…'}`,
    login,
    secondFactor,
    timeout,
    transferTimeout,
    connections,
    permissions,
    rate: rate ?? null,
    waiting: waiting ?? null,
    dryRun: settings.dryRun === true,
    rehearsal: isSet(settings.rehearsal),
    log: settings.log === true,
    pin: isSet(settings.pin),
    journal: isSet(settings.journal),
    signed: isSet(settings.signingKey),
    vendor: isSet(settings.vendor),
    brand: isSet(settings.brand),
    tls: {
      verified: tls?.rejectUnauthorized !== false,
      ca: isSet(tls?.ca),
      'client-certificate': isSet(tls?.cert) || isSet(tls?.pfx),
      servername: isSet(tls?.servername),
    },
    proxy: proxy
      ? { encrypted: proxy.url.startsWith('https:'), account: isSet(proxy.username), exceptions: proxy.noproxy?.length ?? 0 }
      : null,
  };
}
