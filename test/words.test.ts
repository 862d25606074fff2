import { describe, expect, it } from 'vitest';
import { brandOf, vendorOf } from '../src/areas/vendor';
import { appliance, failure, lines } from './library/appliance';
import { callOf } from './library/call';
import { http, wire } from './library/wire';

describe('the vendor', () => {
  it('is found once, from the one key that ends in -enforcer', async () => {
    const simulator = await appliance({ vendor: 'zenith' });
    const call = callOf(simulator);
    expect(await Promise.all([vendorOf(call), vendorOf(call)])).toEqual(['zenith', 'zenith']);
    expect(await vendorOf(call)).toBe('zenith');
    expect(lines(simulator)).toEqual(['GET /api/v1/configuration/uac']);
  });

  it('is taken from the settings without a look', async () => {
    const simulator = await appliance();
    expect(await vendorOf(callOf(simulator, {}, { vendor: 'other' }))).toBe('other');
    expect(simulator.requests).toEqual([]);
  });

  it('is BAD_CONFIG when there are two or none, naming them', async () => {
    const link = { href: '/api/v1/configuration/uac/x' };
    for (const [keys, words] of [
      [['host-enforcer', 'alpha-enforcer', 'beta-enforcer'], 'there are several candidates: alpha-enforcer, beta-enforcer'],
      [['host-enforcer', 'enforcer-x'], 'no key of the uac configuration ends in -enforcer'],
    ] as const) {
      const server = await wire(() => http(200, JSON.stringify(Object.fromEntries(keys.map((key) => [key, link])))));
      const error = await failure(vendorOf(callOf(server)));
      expect(error.code).toBe('BAD_CONFIG');
      expect(error.message).toBe(`vendor is not set and cannot be found: ${words}. Enter the vendor in the settings of the appliance.`);
    }
  });

  it('is no text that stands beside the links', async () => {
    const document = { 'note-enforcer': 'text', 'acme-enforcer': { href: '/api/v1/configuration/uac/x' } };
    expect(await vendorOf(callOf(await wire(() => http(200, JSON.stringify(document)))))).toBe('acme');
  });
});

describe('the brand', () => {
  it('begins with a capital, however it is written', async () => {
    const simulator = await appliance();
    expect(await brandOf(callOf(simulator, {}, { brand: 'zenith' }))).toBe('Zenith');
    expect(await brandOf(callOf(simulator, {}, { brand: 'ZENITH' }))).toBe('ZENITH');
    expect(simulator.requests).toEqual([]);
    expect(await brandOf(callOf(simulator))).toBe('Apex');
    const sessions = [{ 'session-id': 'a' }, { 'session-id': 'b', 'zed-client-version': '1' }];
    const list = { 'active-users': { 'active-user-records': { 'active-user-record': sessions } } };
    expect(await brandOf(callOf(await wire(() => http(200, JSON.stringify(list)))))).toBe('Zed');
  });
});
