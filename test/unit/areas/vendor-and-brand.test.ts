import { describe, expect, it } from 'vitest';
import { resolveBrand, resolveVendor } from '../../../src/areas/vendor-and-brand';
import { startTestSimulator, expectFailure, listRequestLines } from '../../helpers/simulated-appliance';
import { createRunContext } from '../../helpers/call';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

describe('resolveVendor', () => {
  it('resolveVendor finds the vendor once, from the only key that ends in -enforcer', async () => {
    const simulator = await startTestSimulator({ vendor: 'zenith' });
    const call = createRunContext(simulator);
    expect(await Promise.all([resolveVendor(call), resolveVendor(call)])).toEqual(['zenith', 'zenith']);
    expect(await resolveVendor(call)).toBe('zenith');
    expect(listRequestLines(simulator)).toEqual(['GET /api/v1/configuration/uac']);
  });

  it('resolveVendor takes the vendor from the settings and sends no request', async () => {
    const simulator = await startTestSimulator();
    expect(await resolveVendor(createRunContext(simulator, {}, { vendor: 'other' }))).toBe('other');
    expect(simulator.requests).toEqual([]);
  });

  it('resolveVendor fails with BAD_CONFIG and names the candidates when there are two or none', async () => {
    const link = { href: '/api/v1/configuration/uac/x' };
    for (const [keys, words] of [
      [['host-enforcer', 'alpha-enforcer', 'beta-enforcer'], 'there are several candidates: alpha-enforcer, beta-enforcer'],
      [['host-enforcer', 'enforcer-x'], 'no key of the uac configuration ends in -enforcer'],
    ] as const) {
      const server = await startRawServer(() => httpResponse(200, JSON.stringify(Object.fromEntries(keys.map((key) => [key, link])))));
      const error = await expectFailure(resolveVendor(createRunContext(server)));
      expect(error.code).toBe('BAD_CONFIG');
      expect(error.message).toBe(`vendor is not set and cannot be found: ${words}. Enter the vendor in the settings of the appliance.`);
    }
  });

  it('resolveVendor ignores text values beside the links', async () => {
    const document = { 'note-enforcer': 'text', 'acme-enforcer': { href: '/api/v1/configuration/uac/x' } };
    expect(await resolveVendor(createRunContext(await startRawServer(() => httpResponse(200, JSON.stringify(document)))))).toBe('acme');
  });
});

describe('resolveBrand', () => {
  it('resolveBrand returns the brand with a capital first letter, however the appliance spells it', async () => {
    const simulator = await startTestSimulator();
    expect(await resolveBrand(createRunContext(simulator, {}, { brand: 'zenith' }))).toBe('Zenith');
    expect(await resolveBrand(createRunContext(simulator, {}, { brand: 'ZENITH' }))).toBe('ZENITH');
    expect(simulator.requests).toEqual([]);
    expect(await resolveBrand(createRunContext(simulator))).toBe('Apex');
    const sessions = [{ 'session-id': 'a' }, { 'session-id': 'b', 'zed-client-version': '1' }];
    const list = { 'active-users': { 'active-user-records': { 'active-user-record': sessions } } };
    expect(await resolveBrand(createRunContext(await startRawServer(() => httpResponse(200, JSON.stringify(list)))))).toBe('Zed');
  });
});
