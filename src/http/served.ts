import { X509Certificate } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import { ONCE, type Cancellable } from '../model/cancelling';
import { GatewayError } from '../model/error';
import type { ServedCertificate, ShownCertificate } from '../model/served';
import { ours, sentence } from '../model/sentence';
import type { CheckedSettings, ProxySettings } from '../model/settings';
import { networkFault } from './faults';

/** Whom the handshake is with. */
export interface ServedAt {
  readonly host: string;
  readonly port: number;
}

const DAY_MS = 86_400_000;
const LONGEST_MS = 10_000;
const GOODBYE_MS = 1000;

/** What a handshake showed, the certificate itself first. */
export interface Handshake {
  readonly certificates: readonly [X509Certificate, ...X509Certificate[]];
  /** Whether it would be believed, with the TLS configuration of the settings. */
  readonly trusted: boolean;
}

/** The same as `showChain`, in words. */
export async function servedChain(...of: Parameters<typeof showChain>): Promise<ServedCertificate> {
  const { certificates, trusted } = await showChain(...of);
  const [first] = certificates;
  return { ...shownOf(first), names: namesOf(first), trusted, chain: certificates.map(shownOf) };
}

/**
 * The certificates that a TLS handshake shows, whether they are trusted or not. Nothing is sent beyond the handshake: no key and no
 * password; the client certificate of the settings to the appliance alone. Errors: `CONNECTION`, `TLS`, `TIMEOUT`, `ABORTED`, and
 * `BAD_CONFIG` where the appliance is reached without TLS.
 */
export async function showChain(
  settings: CheckedSettings,
  proxy: ProxySettings | undefined,
  elsewhere?: ServedAt,
  signal?: Cancellable,
): Promise<Handshake> {
  const own = new URL(settings.origin);
  if (!elsewhere && own.protocol !== 'https:') {
    throw new GatewayError('BAD_CONFIG', sentence`The appliance is reached without TLS, so it shows no certificate.`, { sent: false });
  }
  const target = elsewhere ?? { host: own.hostname.replace(/^\[|\]$/g, ''), port: Number(own.port || 443) };
  const shown = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`;
  const limit = Math.min(LONGEST_MS, settings.timeout * 1000);
  const open: { destroy(): void }[] = [];
  let timer: NodeJS.Timeout | undefined;
  let leave = (): void => undefined;
  const ended = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new GatewayError('TIMEOUT', sentence`${shown} did not finish a TLS handshake within ${limit / 1000} s.`, { sent: false }));
    }, limit);
    leave = () => reject(new GatewayError('ABORTED', 'Cancelled before the handshake was done.', { sent: false }));
    if (signal?.aborted) leave();
    signal?.addEventListener('abort', leave, ONCE);
  });
  try {
    const handshake = async (): Promise<Handshake> => {
      const through = proxy && { socket: await tunnel(proxy, shown, open) };
      const secure = connectTls({ ...target, ...optionsFor(settings, target, elsewhere !== undefined), ...through });
      // It takes what it runs through along; Node.js 20 crashes when that goes first.
      open.unshift(secure);
      const found = read(await established(secure));
      leaveInPeace(secure);
      open.length = 0;
      return found;
    };
    return await Promise.race([ended, handshake()]);
  } catch (thrown) {
    throw thrown instanceof GatewayError ? thrown : networkFault(thrown, 'connecting', shown);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', leave);
    for (const socket of open) socket.destroy();
  }
}

function optionsFor({ tls = {} }: CheckedSettings, { host }: ServedAt, foreign: boolean): ConnectionOptions {
  const { ca, cert, key, pfx, passphrase, servername } = tls;
  const name = (!foreign && servername) || (isIP(host) === 0 ? host : undefined);
  // Who we are is for the appliance only.
  const identity = foreign ? {} : { cert, key, pfx, passphrase };
  const trust = { ca, allowPartialTrustChain: Boolean(ca) };
  // What is shown is the question, not whether it is trusted: nothing is sent to whoever shows it.
  return { ...trust, ...identity, servername: name, rejectUnauthorized: false };
}

function established(secure: TLSSocket): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    secure.once('secureConnect', () => resolve(secure));
    // Kept on: an alert that comes after the handshake must not go uncaught.
    secure.on('error', reject);
    secure.once('close', () => reject(new Error('closed')));
  });
}

/** Says goodbye: of one that just goes, the other side notes a handshake that failed. */
function leaveInPeace(secure: TLSSocket): void {
  secure.resume().end();
  const timer = setTimeout(() => secure.destroy(), GOODBYE_MS);
  secure.once('close', () => clearTimeout(timer));
}

/** A way through the proxy, by CONNECT. */
function tunnel(proxy: ProxySettings, to: string, open: { destroy(): void }[]): Promise<Socket> {
  const { protocol, hostname, port, username, password } = new URL(proxy.url);
  const account = proxy.username ?? decodeURIComponent(username);
  const secret = proxy.password ?? decodeURIComponent(password);
  const secure = protocol === 'https:';
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port || (secure ? 443 : 80),
      method: 'CONNECT',
      path: to,
      headers: { host: to, ...(account && { 'proxy-authorization': `Basic ${Buffer.from(`${account}:${secret}`).toString('base64')}` }) },
    });
    open.push(request);
    request.once('connect', (response: IncomingMessage, socket: Socket) => {
      open.push(socket);
      if (response.statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(
        new GatewayError('CONNECTION', sentence`The proxy did not open a way to ${to} (status ${response.statusCode ?? ours('none')}).`, {
          sent: false,
        }),
      );
    });
    request.on('error', reject);
    request.end();
  });
}

function read(secure: TLSSocket): Handshake {
  const shown = new Map<string, X509Certificate>();
  // One that signed itself is its own issuer.
  let next: Partial<DetailedPeerCertificate> | undefined = secure.getPeerCertificate(true);
  while (next?.raw && next.fingerprint256 !== undefined && !shown.has(next.fingerprint256)) {
    shown.set(next.fingerprint256, new X509Certificate(next.raw));
    next = next.issuerCertificate;
  }
  const [first, ...others] = shown.values();
  if (!first) throw new GatewayError('TLS', sentence`The handshake showed no certificate.`, { sent: false });
  return { certificates: [first, ...others], trusted: secure.authorized };
}

/** As Node.js reads them; a name may be missing. */
type Read = Pick<X509Certificate, 'validFrom' | 'validTo' | 'fingerprint256'> & Partial<Pick<X509Certificate, 'subject' | 'issuer'>>;

export function shownOf(certificate: Read): ShownCertificate {
  const until = new Date(certificate.validTo);
  return {
    subject: onOneLine(certificate.subject),
    issuer: onOneLine(certificate.issuer),
    'valid-from': new Date(certificate.validFrom).toISOString(),
    'valid-to': until.toISOString(),
    days: Math.floor((until.getTime() - Date.now()) / DAY_MS),
    fingerprint256: certificate.fingerprint256,
  };
}

function onOneLine(name = ''): string {
  return name.split('\n').filter(Boolean).join(', ');
}

/** `DNS:vpn.example.com, IP Address:192.0.2.1` as an array of names. */
export function namesOf({ subjectAltName = '' }: Pick<X509Certificate, 'subjectAltName'>): string[] {
  // What has a comma in it is quoted, as JSON.
  const parts = subjectAltName.match(/[^:,]+:(?:"(?:[^"\\]|\\.)*"|[^,]*)/g) ?? [];
  return parts.map((part) => {
    const value = part.slice(part.indexOf(':') + 1).trim();
    return value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
  });
}
