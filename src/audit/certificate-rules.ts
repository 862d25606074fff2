import { X509Certificate } from 'node:crypto';
import { isObject, type JsonObject } from '../model/json';
import { toPointerSegment } from '../change/compare';
import { describeCertificateWeakness } from './certificate-strength';
import type { AuditRule, AuditSubject } from './audit-rule';
import type { ConfigurationIndex } from './configuration-index';
import type { AuditRuleFault } from './finding';
import { readDate } from './read-date';

const DAY_MS = 86_400_000;
const MIN_RSA_BITS = 2048;
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** The end of a user account is not the end of a certificate. */
const LOCAL_USER = /\/local\/users\//;
const MAX_PEM_LENGTH = 100_000;
const END_FIELD = /^(?:valid-to|not-after|expir(?:es|y|ation)(?:-(?:date|time|on|at))?)$/i;
const SIZE_FIELD = /^(?:key-(?:size|length|bits))$/i;
const ALGORITHM_FIELD = /^(?:signature-(?:hash-)?algorithm|signature-hash)$/i;
const WEAK_ALGORITHM = /md[245]|sha-?1(?!\d)/i;

/** The known properties of one certificate, and the field that contains it. */
interface CertificateFacts {
  readonly path: string;
  readonly name: string;
  readonly end?: { readonly field: string; readonly value: unknown; readonly time: number };
  readonly weak?: { readonly field: string; readonly value: unknown };
}

const CERTIFICATE = '/api/v1/configuration/system/certificates/certificate/portal';
const stored = (fields: JsonObject) => ({ [CERTIFICATE]: { name: 'portal', ...fields } });

/** Certificates that the appliance serves, and certificates in the configuration. */
export const certificateAuditRules: readonly AuditRule[] = [
  {
    id: 'certificate-ends',
    severity: 'high',
    title: 'Certificates that end soon',
    message: 'The certificate ends soon or has ended.',
    fix: 'Renew the certificate.',
    check: (subject) =>
      toFaults(subject, ({ path, name, end }) => {
        if (!end || end.time - subject.now > subject.limits.days * DAY_MS) return undefined;
        const days = Math.floor((end.time - subject.now) / DAY_MS);
        const message = days < 0 ? 'The certificate has ended.' : `The certificate ends in ${days} days.`;
        return { path, name, message, evidence: { field: end.field, value: end.value } };
      }),
    passes: { resources: stored({ 'valid-to': '2099-01-01T00:00:00Z' }) },
    fails: { resources: stored({ 'valid-to': '2020-01-01T00:00:00Z' }) },
  },
  {
    id: 'certificate-weak',
    severity: 'medium',
    title: 'Certificates with a short key or an old signature',
    message: 'The certificate has a short key or a broken signature algorithm.',
    fix: 'Request a certificate with at least 2048 bits, or a curve of at least 224 bits, and SHA-256.',
    check: (subject) =>
      toFaults(subject, ({ path, name, weak }) => (weak ? { path, name, evidence: { field: weak.field, value: weak.value } } : undefined)),
    passes: { resources: stored({ 'key-size': 4096, 'valid-to': '2099-01-01T00:00:00Z' }) },
    fails: { resources: stored({ 'key-size': 1024 }) },
  },
];

function toFaults(subject: AuditSubject, toFault: (facts: CertificateFacts) => AuditRuleFault | undefined): AuditRuleFault[] | undefined {
  const certificates = [...readStored(subject), ...findServed(subject)];
  if (certificates.length === 0) return undefined;
  return certificates.flatMap((facts) => toFault(facts) ?? []);
}

function findServed({ live }: AuditSubject): CertificateFacts[] {
  const { subject, 'valid-to': validTo, weakness } = live.certificate ?? {};
  const name = typeof subject === 'string' ? subject : '';
  const time = typeof validTo === 'string' ? Date.parse(validTo) : Number.NaN;
  const end = Number.isNaN(time) ? undefined : { field: '/valid-to', value: validTo, time };
  const weak = typeof weakness === 'string' ? { field: '/weakness', value: weakness } : undefined;
  return end || weak ? [{ path: '', name, ...(end && { end }), ...(weak && { weak }) }] : [];
}

/** Certificates by configuration, because both rules read them and reading takes most of the time. */
const storedByIndex = new WeakMap<ConfigurationIndex, CertificateFacts[]>();

function readStored(subject: AuditSubject): CertificateFacts[] {
  const stored = storedByIndex.get(subject.index) ?? findStored(subject);
  storedByIndex.set(subject.index, stored);
  return stored;
}

function findStored({ index }: AuditSubject): CertificateFacts[] {
  const found: CertificateFacts[] = [];
  for (const path of index.paths) {
    const resource = index.resources.get(path) ?? {};
    const isCertificate =
      !LOCAL_USER.test(path) &&
      ((isCertificatePath(path) && isCertificatePath(index.maskNames(path))) || Object.keys(resource).some((key) => /cert/i.test(key)));
    findIn(resource, '', { path, index, isCertificate }, found, 0);
  }
  return found;
}

const isCertificatePath = (path: string): boolean => path.toLowerCase().includes('certificate');

/** A resource to look into. Without a sign of a certificate in its path or its keys, only certificates in PEM count. */
interface CertificateHolder {
  readonly path: string;
  readonly index: ConfigurationIndex;
  readonly isCertificate: boolean;
}

function findIn(value: unknown, pointer: string, holder: CertificateHolder, found: CertificateFacts[], depth: number): void {
  if (depth > 20) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) findIn(item, `${pointer}/${index}`, holder, found, depth + 1);
    return;
  }
  if (!isObject(value)) return;
  let facts: Partial<CertificateFacts> = {};
  let hasPem = false;
  for (const [key, item] of Object.entries(value)) {
    if (typeof item === 'object') findIn(item, pointer + toPointerSegment(key), holder, found, depth + 1);
    else if (isPem(item)) {
      hasPem = true;
      found.push({ ...describeHolder(holder), ...readPem(item, pointer + toPointerSegment(key)) });
    } else if (holder.isCertificate) facts = { ...facts, ...readField(key, item, pointer + toPointerSegment(key)) };
  }
  // Other fields repeat what the certificate itself says.
  if (!hasPem && (facts.end ?? facts.weak)) found.push({ ...describeHolder(holder), ...facts });
}

function describeHolder({ path, index }: CertificateHolder): { path: string; name: string } {
  return { path, name: index.findOwner(path)?.name ?? '' };
}

function readField(key: string, value: unknown, field: string): Partial<CertificateFacts> {
  if (END_FIELD.test(key) && typeof value === 'string') {
    const time = readDate(value);
    return Number.isNaN(time) ? {} : { end: { field, value, time } };
  }
  if (SIZE_FIELD.test(key)) {
    const bits = Number(value);
    // Keys of elliptic curves are short: 256 bits are strong there, but no RSA key has so few.
    return bits >= 512 && bits < MIN_RSA_BITS ? { weak: { field, value } } : {};
  }
  return ALGORITHM_FIELD.test(key) && typeof value === 'string' && WEAK_ALGORITHM.test(value) ? { weak: { field, value } } : {};
}

function isPem(value: unknown): value is string {
  return typeof value === 'string' && value.length < MAX_PEM_LENGTH && value.includes('-----BEGIN CERTIFICATE-----');
}

/** Reads a chain: the end of the certificate that ends first, and the first weakness. */
function readPem(text: string, field: string): Partial<CertificateFacts> {
  const certificates = [...text.matchAll(PEM)].flatMap(([pem]) => parseCertificate(pem) ?? []);
  const ends = certificates.map(({ validTo }) => ({ field, value: validTo, time: Date.parse(validTo) }));
  const [first] = ends.filter(({ time }) => !Number.isNaN(time)).sort((a, b) => a.time - b.time);
  const weak = certificates.map(describeCertificateWeakness).find((weakness) => weakness !== undefined);
  return { ...(first && { end: first }), ...(weak !== undefined && { weak: { field, value: weak } }) };
}

function parseCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}
