import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import { LISTEN_ONCE_OPTION, type AbortSignalLike } from '../model/abort';
import { GatewayError } from '../model/error';
import type { PeerCertificateInfo, CertificateInfo } from '../model/peer-certificate';
import { trusted, safeMessage } from '../model/safe-message';
import type { CheckedSettings, ProxySettings } from '../model/settings';
import { createBasicAuthorizationHeader } from './exchange';
import { toNetworkError } from './network-error';

/** Address of the other side of a handshake. */
export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

const DAY_MS = 86_400_000;
const MAX_HANDSHAKE_MS = 10_000;
const CLOSE_TIMEOUT_MS = 1000;

/** Certificates of a handshake, the server's own first. */
export interface Handshake {
  readonly certificates: readonly [X509Certificate, ...X509Certificate[]];
  /** True when the TLS configuration of the settings trusts the chain. */
  readonly trusted: boolean;
  /** The negotiated version, such as `TLSv1.3`. */
  readonly protocol: string;
  /** The standard name of the cipher. */
  readonly cipher: string;
}

/** Like `fetchPeerCertificates`, but returns texts and dates. */
export async function describePeerCertificate(...of: Parameters<typeof fetchPeerCertificates>): Promise<PeerCertificateInfo> {
  const { certificates, trusted } = await fetchPeerCertificates(...of);
  const [first] = certificates;
  return { ...toCertificateInfo(first), names: parseSubjectAltNames(first), trusted, chain: certificates.map(toCertificateInfo) };
}

/**
 * Fetches the certificates of a TLS handshake, trusted or not. Sends no key and no password, and the client certificate only to the
 * appliance itself. Errors: `CONNECTION`, `TLS`, `TIMEOUT`, `ABORTED`, and `BAD_CONFIG` when the appliance uses plain HTTP.
 */
export async function fetchPeerCertificates(
  settings: CheckedSettings,
  proxy: ProxySettings | undefined,
  otherHost?: HostAndPort,
  signal?: AbortSignalLike,
): Promise<Handshake> {
  const applianceUrl = new URL(settings.origin);
  if (!otherHost && applianceUrl.protocol !== 'https:') {
    throw new GatewayError('BAD_CONFIG', safeMessage`The appliance uses plain HTTP, so it has no certificate.`, { sent: false });
  }
  const target = otherHost ?? { host: applianceUrl.hostname.replace(/^\[|\]$/g, ''), port: Number(applianceUrl.port || 443) };
  const address = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`;
  const timeoutMs = Math.min(MAX_HANDSHAKE_MS, settings.timeout * 1000);
  const openSockets: { destroy(): void }[] = [];
  let timer: NodeJS.Timeout | undefined;
  let rejectAborted = (): void => undefined;
  const timeoutOrAbort = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        new GatewayError('TIMEOUT', safeMessage`${address} did not finish a TLS handshake within ${timeoutMs / 1000} s.`, { sent: false }),
      );
    }, timeoutMs);
    rejectAborted = () => reject(new GatewayError('ABORTED', 'Canceled before the TLS handshake was complete.', { sent: false }));
    if (signal?.aborted) rejectAborted();
    signal?.addEventListener('abort', rejectAborted, LISTEN_ONCE_OPTION);
  });
  try {
    const performHandshake = async (): Promise<Handshake> => {
      const tunneled = proxy && { socket: await openTunnel(proxy, address, openSockets) };
      const secure = connectTls({ ...target, ...toTlsOptions(settings, target, otherHost !== undefined), ...tunneled });
      // Destroying the TLS socket also destroys its tunnel. Node.js 20 crashes when the tunnel goes first.
      openSockets.unshift(secure);
      const result = readHandshake(await waitForHandshake(secure));
      closeGracefully(secure);
      openSockets.length = 0;
      return result;
    };
    return await Promise.race([timeoutOrAbort, performHandshake()]);
  } catch (thrown) {
    throw thrown instanceof GatewayError ? thrown : toNetworkError(thrown, 'connecting', address);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', rejectAborted);
    for (const socket of openSockets) socket.destroy();
  }
}

function toTlsOptions({ tls = {} }: CheckedSettings, { host }: HostAndPort, isOtherHost: boolean): ConnectionOptions {
  const { ca, cert, key, pfx, passphrase, servername } = tls;
  const name = (!isOtherHost && servername) || (isIP(host) === 0 ? host : undefined);
  // Only the appliance may see the client certificate.
  const identity = isOtherHost ? {} : { cert, key, pfx, passphrase };
  const trust = { ca, allowPartialTrustChain: Boolean(ca) };
  // The handshake inspects the certificate and sends nothing else, so an untrusted one must not end it.
  return { ...trust, ...identity, servername: name, rejectUnauthorized: false };
}

function waitForHandshake(secure: TLSSocket): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    secure.once('secureConnect', () => resolve(secure));
    // The listener stays, because an alert may follow the handshake.
    secure.on('error', reject);
    secure.once('close', () => reject(new Error('closed')));
  });
}

/** Closes with a TLS close_notify, so that the server does not log a failed handshake. */
function closeGracefully(secure: TLSSocket): void {
  secure.resume().end();
  const timer = setTimeout(() => secure.destroy(), CLOSE_TIMEOUT_MS);
  secure.once('close', () => clearTimeout(timer));
}

/** Opens a tunnel through the proxy with CONNECT. */
function openTunnel(proxy: ProxySettings, destination: string, openSockets: { destroy(): void }[]): Promise<Socket> {
  const { protocol, hostname, port, username, password } = new URL(proxy.url);
  const proxyUsername = proxy.username ?? decodeURIComponent(username);
  const proxyPassword = proxy.password ?? decodeURIComponent(password);
  const isHttps = protocol === 'https:';
  return new Promise((resolve, reject) => {
    const { request: sendRequest } = process.getBuiltinModule(isHttps ? 'node:https' : 'node:http');
    const request = sendRequest({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port || (isHttps ? 443 : 80),
      method: 'CONNECT',
      path: destination,
      headers: {
        host: destination,
        ...(proxyUsername && { 'proxy-authorization': createBasicAuthorizationHeader(proxyUsername, proxyPassword) }),
      },
    });
    openSockets.push(request);
    request.once('connect', (response: IncomingMessage, socket: Socket) => {
      openSockets.push(socket);
      if (response.statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(
        new GatewayError(
          'CONNECTION',
          safeMessage`The proxy did not open a way to ${destination} (status ${response.statusCode ?? trusted('none')}).`,
          {
            sent: false,
          },
        ),
      );
    });
    request.on('error', reject);
    request.end();
  });
}

function readHandshake(secure: TLSSocket): Handshake {
  const certificates = new Map<string, X509Certificate>();
  // A self-signed certificate is its own issuer.
  let next: Partial<DetailedPeerCertificate> | undefined = secure.getPeerCertificate(true);
  while (next?.raw && next.fingerprint256 !== undefined && !certificates.has(next.fingerprint256)) {
    certificates.set(next.fingerprint256, new X509Certificate(next.raw));
    next = next.issuerCertificate;
  }
  const [first, ...others] = certificates.values();
  if (!first) throw new GatewayError('TLS', safeMessage`The handshake showed no certificate.`, { sent: false });
  const { standardName, name } = secure.getCipher();
  const cipher = standardName || name;
  return { certificates: [first, ...others], trusted: secure.authorized, protocol: secure.getProtocol() ?? '', cipher };
}

/** The fields of a certificate. Node.js may omit the names. */
type CertificateFields = Pick<X509Certificate, 'validFrom' | 'validTo' | 'fingerprint256'> &
  Partial<Pick<X509Certificate, 'subject' | 'issuer'>>;

export function toCertificateInfo(certificate: CertificateFields): CertificateInfo {
  const validTo = new Date(certificate.validTo);
  return {
    subject: onOneLine(certificate.subject),
    issuer: onOneLine(certificate.issuer),
    'valid-from': new Date(certificate.validFrom).toISOString(),
    'valid-to': validTo.toISOString(),
    days: Math.floor((validTo.getTime() - Date.now()) / DAY_MS),
    fingerprint256: certificate.fingerprint256,
  };
}

function onOneLine(name = ''): string {
  return name.split('\n').filter(Boolean).join(', ');
}

/** Splits `DNS:vpn.example.com, IP Address:192.0.2.1` into names. */
export function parseSubjectAltNames({ subjectAltName = '' }: Pick<X509Certificate, 'subjectAltName'>): string[] {
  // Names with a comma are quoted like JSON strings.
  const parts = subjectAltName.match(/[^:,]+:(?:"(?:[^"\\]|\\.)*"|[^,]*)/g) ?? [];
  return parts.map((part) => {
    const value = part.slice(part.indexOf(':') + 1).trim();
    return value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
  });
}
