import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

/**
 * A self-signed server certificate, P-256, that a client trusts through its `ca`, so that verification stays on.
 * Written here because node:crypto reads certificates but can't make one, and the libraries for it weigh 9 MB and 1.8 MB
 * while the package's installed size is limited. It is DER for this one certificate, not a general writer.
 */
function der(tag: number, ...content: Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const length = body.length < 0x100 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

const sequence = (...content: Buffer[]): Buffer => der(0x30, ...content);
const octets = (content: Buffer): Buffer => der(0x04, content);
const bits = (content: Buffer, unused = 0): Buffer => der(0x03, Buffer.from([unused]), content);
const TRUE = Buffer.from([0x01, 0x01, 0xff]);

/** An object identifier; every arc above 127 takes more bytes, seven bits each. */
function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return der(0x06, Buffer.from(bytes));
}

function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]/g, '').slice(0, 14);
  // Years from 2050 on don't fit the short form (RFC 5280, 4.1.2.5).
  return date.getUTCFullYear() < 2050 ? der(0x17, Buffer.from(`${digits.slice(2)}Z`)) : der(0x18, Buffer.from(`${digits}Z`));
}

function ipBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail = ''] = address.split('::');
  const groups = (part: string): number[] => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16)));
  const front = address.includes('::')
    ? [...groups(head), ...Array<number>(8 - groups(head).length - groups(tail).length).fill(0)]
    : groups(head);
  return Buffer.from([...front, ...groups(tail)].flatMap((group) => [group >> 8, group & 0xff]));
}

function extension(id: string, isCritical: boolean, value: Buffer): Buffer {
  return sequence(oid(id), ...(isCritical ? [TRUE] : []), octets(value));
}

function extensions(names: readonly string[], publicKey: Buffer): Buffer {
  const alternatives = names.map((name) => (isIP(name) > 0 ? der(0x87, ipBytes(name)) : der(0x82, Buffer.from(name, 'latin1'))));
  return sequence(
    extension('2.5.29.19', true, sequence(TRUE)), // basicConstraints: CA, so that the certificate itself can be a trust anchor
    extension('2.5.29.15', true, bits(Buffer.from([0x84]), 2)), // keyUsage: digitalSignature, keyCertSign
    extension('2.5.29.37', false, sequence(oid('1.3.6.1.5.5.7.3.1'))), // extendedKeyUsage: serverAuth
    extension('2.5.29.17', false, sequence(...alternatives)),
    extension('2.5.29.14', false, octets(createHash('sha1').update(publicKey).digest())),
  );
}

const pem = (label: string, content: Buffer): string =>
  `-----BEGIN ${label}-----\n${content.toString('base64').replace(/(.{64})(?=.)/g, '$1\n')}\n-----END ${label}-----\n`;

/** PEM. */
export interface KeyPair {
  key: string;
  cert: string;
}

/** Valid from yesterday, since clocks differ, for ten years. */
export function selfSigned(names: readonly string[] = []): KeyPair {
  return createCertificate(names, 3650);
}

/** Issues a certificate that the first one has signed, for this many days. */
export function issueCertificate(
  authority: KeyPair,
  { days = 365, names = [] }: { days?: number; names?: readonly string[] } = {},
): KeyPair {
  return createCertificate(names, days, authority);
}

const distinguishedName = (name: string): Buffer => sequence(der(0x31, sequence(oid('2.5.4.3'), der(0x0c, Buffer.from(name)))));

function createCertificate(names: readonly string[], days: number, authority?: KeyPair): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const algorithm = sequence(oid('1.2.840.10045.4.3.2')); // ecdsa-with-SHA256
  const issuer = distinguishedName('Gateway simulator');
  const subject = authority ? distinguishedName('Gateway device') : issuer;
  const start = Date.now() - 86_400_000;
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40; // positive and without leading zeros
  const body = sequence(
    der(0xa0, Buffer.from([0x02, 0x01, 0x02])), // version 3
    der(0x02, serial),
    algorithm,
    issuer,
    sequence(time(new Date(start)), time(new Date(Date.now() + days * 86_400_000))),
    subject,
    spki,
    der(0xa3, extensions([...new Set(['localhost', '127.0.0.1', '::1', ...names])], spki)),
  );
  const cert = pem('CERTIFICATE', sequence(body, algorithm, bits(sign('sha256', body, authority?.key ?? privateKey))));
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert };
}
