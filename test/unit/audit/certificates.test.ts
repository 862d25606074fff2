import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeCertificateWeakness } from '../../../src/audit/certificate-strength';
import { ConfigurationIndex } from '../../../src/audit/configuration-index';
import { auditRules, DEFAULT_AUDIT_LIMITS } from '../../../src/audit/rules';
import { runAuditRules } from '../../../src/audit/run-audit';
import type { JsonObject } from '../../../src/model/json';
import { checkRule } from './audit-subject';

const readPem = (name: string): string => readFileSync(join(__dirname, '../../fixtures/certificates', `${name}.pem`), 'utf8');

const WEAKNESSES: Record<string, string | undefined> = {
  'rsa-1024': '1024 bits',
  'rsa-sha1': 'SHA-1 with RSA',
  secp160r1: 'curve secp160r1',
  prime192v1: 'curve prime192v1',
  'rsa-2048': undefined,
  'root-sha1': undefined,
  prime256v1: undefined,
  ed25519: undefined,
};

const findWeak = async (resources: Record<string, JsonObject>, certificate?: JsonObject): Promise<unknown[]> => {
  const { findings } = await runAuditRules(
    auditRules.filter(({ id }) => id === 'certificate-weak'),
    {
      index: new ConfigurationIndex(new Map(Object.entries(resources))),
      ...{ release: null, serialNumber: null, limits: DEFAULT_AUDIT_LIMITS, live: { certificate }, weakSecrets: new Map() },
      ...{ now: Date.parse('2026-06-01'), effects: new Map() },
    },
  );
  return findings.map(({ path, name, evidence }) => [path, name, evidence?.value]);
};

it.each(Object.entries(WEAKNESSES))('the weakness of the certificate %s is %s', async (name, weakness) => {
  expect(describeCertificateWeakness(new X509Certificate(readPem(name)))).toBe(weakness);
  const path = '/api/v1/configuration/system/certificates/portal';
  expect(await findWeak({ [path]: { name: 'portal', pem: readPem(name) } })).toEqual(weakness ? [[path, 'portal', weakness]] : []);
});

it('the rule certificate-weak reports a weak certificate that the appliance serves', async () => {
  const served = { subject: 'CN=vpn', 'valid-to': '2099-01-01T00:00:00Z' };
  expect(await findWeak({}, served)).toEqual([]);
  expect(await findWeak({}, { ...served, weakness: '1024 bits' })).toEqual([['', 'CN=vpn', '1024 bits']]);
});

it('the rule certificate-weak reads all certificates of a chain, whatever the name of the field', async () => {
  const path = '/api/v1/configuration/authentication/saml/peer/idp';
  const signing = [readPem('rsa-2048'), readPem('rsa-1024')].join('\n');
  expect(await findWeak({ [path]: { name: 'idp', signing } })).toEqual([[path, 'idp', '1024 bits']]);
});

it('the rule certificate-weak reports a certificate once if other fields repeat its key size', async () => {
  const path = '/api/v1/configuration/system/certificates/portal';
  const stored = { name: 'portal', 'key-size': 1024, pem: readPem('rsa-1024'), text: readPem('rsa-2048') };
  expect(await findWeak({ [path]: stored })).toEqual([[path, 'portal', '1024 bits']]);
});

/** Returns the PEM text of a certificate after a change of its bytes. */
function changeCertificate(pem: string, change: (der: Buffer) => void): string {
  const { raw } = new X509Certificate(pem);
  change(raw);
  return `-----BEGIN CERTIFICATE-----\n${raw.toString('base64')}\n-----END CERTIFICATE-----\n`;
}

it('the rules for certificates accept a certificate whose key or end Node.js cannot read', async () => {
  const path = '/api/v1/configuration/system/certificates/portal';
  // The object identifier of an RSA key, which becomes an unknown algorithm.
  const unknownKey = changeCertificate(readPem('rsa-1024'), (der) => (der[der.indexOf('2a864886f70d010101', 'hex') + 8] = 0x63));
  expect(await findWeak({ [path]: { name: 'portal', unknownKey } })).toEqual([]);
  const badEnd = changeCertificate(readPem('rsa-1024'), (der) => der.write('99999999999999Z', der.indexOf('180f', 'hex') + 2));
  expect(new X509Certificate(badEnd).validTo).toBe('Bad time value');
  expect(await checkRule('certificate-ends', { 'system/certificates/portal': { name: 'portal', badEnd } })).toEqual([]);
  expect(await findWeak({ [path]: { name: 'portal', badEnd } })).toEqual([[path, 'portal', '1024 bits']]);
});
