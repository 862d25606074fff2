import { GatewayError, type GatewayErrorDetails } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';

const UNTRUSTED_CERTIFICATE_CODES = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_UNTRUSTED',
]);

const CONNECT_MESSAGES: Readonly<Record<string, string>> = {
  ENOTFOUND: 'The name {host} is not known to DNS. Check the URL of the appliance.',
  EAI_AGAIN: 'The name {host} could not be looked up: DNS did not answer. Try again, or check the network of this machine.',
  ECONNREFUSED: '{host} refused the connection. Check the port, and that the administration interface is enabled.',
  EHOSTUNREACH: '{host} cannot be reached from this machine. Check network and firewall.',
  ENETUNREACH: '{host} cannot be reached from this machine. Check network and firewall.',
  UND_ERR_CONNECT_TIMEOUT:
    'No answer from {host}: it did not accept a connection in time. Does a firewall drop the packets? Check address and port.',
  ETIMEDOUT: 'No answer from {host}: it did not accept a connection in time. Does a firewall drop the packets? Check address and port.',
};

/** Progress of an exchange when it fails: nothing sent, request sent, or response begun. */
export type ExchangeStage = 'connecting' | 'waiting' | 'answering';

/** OpenSSL codes for a server that does not speak TLS. */
const NOT_TLS_CODES = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
  'ERR_SSL_UNKNOWN_PROTOCOL',
]);

/**
 * `proxy` is the host and port of the proxy in between. Converts an error of the network, TLS or undici to a `GatewayError` with `TLS`, `CONNECTION` or `BAD_RESPONSE`. `isPlainHttp` is true for
 * an http:// address that has not answered yet.
 */
export function toNetworkError(thrown: unknown, stage: ExchangeStage, host: string, isPlainHttp = false, proxy?: string): GatewayError {
  const { code: system = '', message } = unwrapError(thrown);
  const details: GatewayErrorDetails = { sent: stage !== 'connecting', ...(system && { system }) };
  if (proxy !== undefined && stage === 'connecting') {
    const words = describeProxyFault(proxy, host, system, message);
    if (words) return new GatewayError('CONNECTION', words, details);
  }
  const createError = (code: ErrorCode, words: string): GatewayError =>
    new GatewayError(code, trusted(words.replaceAll('{host}', host)), details);
  // The message may quote received bytes; the code comes from a fixed list.
  const reason = system ? trusted(system) : message;

  if (UNTRUSTED_CERTIFICATE_CODES.has(system)) {
    return createError(
      'TLS',
      `The certificate of {host} is not trusted (${system}). Add the CA that issued it (or the certificate itself, when it is self-signed) to a TLS configuration and choose that in the appliance settings.`,
    );
  }
  if (system === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return createError(
      'TLS',
      'The certificate of {host} is for another name. Use a name of the certificate in the URL, or enter it as server name in the TLS configuration.',
    );
  }
  if (system === 'CERT_HAS_EXPIRED') return createError('TLS', 'The certificate of {host} has expired. Renew it on the appliance.');
  if (system === 'CERT_NOT_YET_VALID')
    return createError('TLS', 'The certificate of {host} is not valid yet. Check the clocks of the appliance and of this machine.');
  if (NOT_TLS_CODES.has(system)) {
    return createError(
      'TLS',
      `{host} does not speak TLS (${system}): it may be a plain HTTP port. Enter the HTTPS port in the URL; http:// is allowed for this machine only.`,
    );
  }
  // TLS 1.3 servers ask for a client certificate after the handshake.
  if (stage !== 'answering' && /^(ERR_SSL|ERR_TLS|EPROTO|CERT_|UNABLE_TO|HOSTNAME_MISMATCH)|SSL|TLS/.test(system)) {
    return createError(
      'TLS',
      `The TLS handshake with {host} failed (${system}). Check that the URL names an HTTPS port, and the client certificate if one is needed.`,
    );
  }
  if (stage === 'connecting') {
    const words = CONNECT_MESSAGES[system];
    if (words) return createError('CONNECTION', words);
    return new GatewayError(
      'CONNECTION',
      safeMessage`Could not connect to ${trusted(host)} (${reason}). Check address, port and proxy.`,
      details,
    );
  }
  if (stage === 'answering')
    return new GatewayError('BAD_RESPONSE', safeMessage`The answer of ${trusted(host)} was cut short (${reason}).`, details);
  if (isPlainHttp) return createPlainHttpError(host, reason);
  if (system.startsWith('HPE_') || system === 'UND_ERR_HEADERS_OVERFLOW') {
    return createError('BAD_RESPONSE', `{host} did not answer with HTTP (${system}). Check the port in the URL.`);
  }
  return new GatewayError('CONNECTION', safeMessage`The connection to ${trusted(host)} was cut before it answered (${reason}).`, details);
}

/** The message of undici if the proxy answers CONNECT with another status than 200. */
const PROXY_STATUS = /^Proxy response \((\d{3})\)/;

/** Returns the error of a proxy connection, because with a proxy every TCP connection goes to the proxy. Undefined for an error behind the proxy. */
function describeProxyFault(proxy: string, host: string, system: string, message: string): SafeMessage | undefined {
  const status = Number(PROXY_STATUS.exec(message)?.[1]);
  const name = trusted(proxy);
  if (status === 407)
    return safeMessage`The proxy ${name} asks for credentials or refuses them (407). Check user name and password in the proxy configuration.`;
  if (status === 502 || status === 503 || status === 504)
    return safeMessage`The proxy ${name} does not reach ${trusted(host)} (${status}). Check the URL of the appliance, and whether the proxy may connect to it.`;
  if (status)
    return safeMessage`The proxy ${name} refused to connect to ${trusted(host)} (${status}). Allow the appliance in the proxy, or exclude it from the proxy.`;
  if (CONNECT_MESSAGES[system] === undefined) return undefined;
  return safeMessage`The proxy ${name} cannot be reached (${trusted(system)}). Check its address and port in the proxy configuration, and whether it runs.`;
}

/** Creates the error for a TLS server that was called over plain HTTP: it hangs up, or sends a TLS alert or a page that says so. */
export function createPlainHttpError(host: string, reason: SafeMessage | string = trusted('400')): GatewayError {
  const words = safeMessage`${trusted(host)} did not answer plain HTTP (${reason}). If this is an HTTPS port, the URL must begin with https://.`;
  return new GatewayError('CONNECTION', words, { sent: true });
}

// Happy eyeballs wraps errors in an AggregateError; undici wraps socket errors as `cause`.
function unwrapError(thrown: unknown): { code?: string; message: string } {
  let current = thrown;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++) {
    const inner: unknown = current instanceof AggregateError ? current.errors[0] : current.cause;
    if (!(inner instanceof Error)) break;
    current = inner;
  }
  if (!(current instanceof Error)) return { message: String(current) };
  const { code } = current as { code?: unknown };
  if (typeof code === 'string') return { message: current.message, code };
  // Some parser errors of undici have no code.
  return { message: current.message, ...(current.name === 'HTTPParserError' && { code: 'HPE_INVALID' }) };
}
