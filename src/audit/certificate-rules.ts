import { X509Certificate } from 'node:crypto';
import { isObject, type JsonObject } from '../model/json';
import { toPointerSegment } from '../change/compare';
import { describeWeakness } from './certificate-strength';
import type { AuditRule, AuditSubject } from './audit-rule';
import type { RuleFault } from './finding';

const DAY_MS = 86_400_000;
const MIN_RSA_BITS = 2048;
const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/;
const END_FIELD = /^(?:valid-to|not-after|expir(?:es|y|ation)(?:-(?:date|time|on|at))?)$/i;
const SIZE_FIELD = /^(?:key-(?:size|length|bits))$/i;
const ALGORITHM_FIELD = /^(?:signature-(?:hash-)?algorithm|signature-hash)$/i;
const WEAK_ALGORITHM = /md[245]|sha-?1(?!\d)/i;

/** What is known about one certificate, with the field that contains it. */
interface CertificateFacts {
  readonly path: string;
  readonly name: string;
  readonly end?: { readonly field: string; readonly value: unknown; readonly time: number };
  readonly weak?: { readonly field: string; readonly value: unknown };
}

const CERTIFICATE = '/api/v1/configuration/system/certificates/certificate/portal';
const stored = (fields: JsonObject) => ({ [CERTIFICATE]: { name: 'portal', ...fields } });

/** Certificates that the appliance serves, and certificates in the configuration. */
export const certificateRules: readonly AuditRule[] = [
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

function toFaults(subject: AuditSubject, toFault: (facts: CertificateFacts) => RuleFault | undefined): RuleFault[] | undefined {
  const certificates = [...findStored(subject), ...findServed(subject)];
  if (certificates.length === 0) return undefined;
  return certificates.flatMap((facts) => toFault(facts) ?? []);
}

function findServed({ live }: AuditSubject): CertificateFacts[] {
  const { subject, 'valid-to': validTo, weakness } = live.certificate ?? {};
  if (typeof validTo !== 'string' || Number.isNaN(Date.parse(validTo))) return [];
  const name = typeof subject === 'string' ? subject : '';
  const end = { field: '/valid-to', value: validTo, time: Date.parse(validTo) };
  return [{ path: '', name, end, ...(typeof weakness === 'string' && { weak: { field: '/weakness', value: weakness } }) }];
}

function findStored({ index }: AuditSubject): CertificateFacts[] {
  const found: CertificateFacts[] = [];
  for (const path of index.paths) {
    const resource = index.resources.get(path) ?? {};
    const isCertificate = path.toLowerCase().includes('certificate') || Object.keys(resource).some((key) => /cert/i.test(key));
    if (isCertificate) findIn(resource, '', { path, name: index.findOwner(path)?.name ?? '' }, found, 0);
  }
  return found;
}

function findIn(value: unknown, pointer: string, owner: { path: string; name: string }, found: CertificateFacts[], depth: number): void {
  if (depth > 20) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) findIn(item, `${pointer}/${index}`, owner, found, depth + 1);
    return;
  }
  if (!isObject(value)) return;
  let facts: Partial<CertificateFacts> = {};
  for (const [key, item] of Object.entries(value)) {
    const field = pointer + toPointerSegment(key);
    if (typeof item === 'object') findIn(item, field, owner, found, depth + 1);
    else facts = { ...facts, ...readField(key, item, field) };
  }
  if (facts.end ?? facts.weak) found.push({ ...owner, ...facts });
}

function readField(key: string, value: unknown, field: string): Partial<CertificateFacts> {
  if (END_FIELD.test(key) && typeof value === 'string') {
    const time = Date.parse(value);
    return Number.isNaN(time) ? {} : { end: { field, value, time } };
  }
  if (SIZE_FIELD.test(key)) {
    const bits = Number(value);
    // Keys of elliptic curves are short: 256 bits are strong there, but no RSA key has so few.
    return bits >= 512 && bits < MIN_RSA_BITS ? { weak: { field, value } } : {};
  }
  if (ALGORITHM_FIELD.test(key) && typeof value === 'string') return WEAK_ALGORITHM.test(value) ? { weak: { field, value } } : {};
  return typeof value === 'string' && value.length < 100_000 ? readPem(value, field) : {};
}

function readPem(text: string, field: string): Partial<CertificateFacts> {
  const [pem] = (text.includes('-----BEGIN CERTIFICATE-----') && PEM.exec(text)) || [];
  if (pem === undefined) return {};
  try {
    const certificate = new X509Certificate(pem);
    const weak = describeWeakness(certificate);
    const end = { field, value: certificate.validTo, time: Date.parse(certificate.validTo) };
    return { end, ...(weak !== undefined && { weak: { field, value: weak } }) };
  } catch {
    return {};
  }
}
