import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWeakness } from '../../../src/audit/certificate-strength';
import { ConfigurationIndex } from '../../../src/audit/configuration-index';
import { auditRules, DEFAULT_AUDIT_LIMITS } from '../../../src/audit/rules';
import { checkRules } from '../../../src/audit/run-audit';
import type { JsonObject } from '../../../src/model/json';

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
  const { findings } = await checkRules(
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
  expect(describeWeakness(new X509Certificate(readPem(name)))).toBe(weakness);
  const path = '/api/v1/configuration/system/certificates/portal';
  expect(await findWeak({ [path]: { name: 'portal', pem: readPem(name) } })).toEqual(weakness ? [[path, 'portal', weakness]] : []);
});

it('certificate-weak reports a weak certificate that the appliance serves', async () => {
  const served = { subject: 'CN=vpn', 'valid-to': '2099-01-01T00:00:00Z' };
  expect(await findWeak({}, served)).toEqual([]);
  expect(await findWeak({}, { ...served, weakness: '1024 bits' })).toEqual([['', 'CN=vpn', '1024 bits']]);
});
