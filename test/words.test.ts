import { describe, expect, it } from 'vitest';
import { Exchanges } from '../src/run/call';
import { processCoordination } from '../src/model/process-coordination';
import { Redactor } from '../src/model/redaction';
import { Session } from '../src/login/session';
import { checkSettings, type Settings } from '../src/model/settings';
import { Transport } from '../src/http/transport';
import { brandOf, vendorOf } from '../src/areas/vendor';
import { appliance, failure, lines, settingsFor } from './library/appliance';
import { http, wire } from './library/wire';

/** The calls of one gateway, as an operation sees them. */
function callsOf(target: { url: string }, more: Partial<Settings> = {}): Exchanges {
  const settings = checkSettings(settingsFor(target, more));
  const transport = new Transport(settings);
  const shared = {
    settings,
    transport,
    session: new Session(settings, transport, new Redactor(), processCoordination),
    facts: new Map(),
    coordination: processCoordination,
  };
  return new Exchanges(shared, { dryRun: false, signal: undefined, onEmit: undefined, onProgress: undefined, mask: (value) => value });
}

describe('the vendor', () => {
  it('is found once, from the one key that ends in -enforcer', async () => {
    const simulator = await appliance({ vendor: 'zenith' });
    const call = callsOf(simulator);
    expect(await Promise.all([vendorOf(call), vendorOf(call)])).toEqual(['zenith', 'zenith']);
    expect(await vendorOf(call)).toBe('zenith');
    expect(lines(simulator)).toEqual(['GET /api/v1/configuration/uac']);
  });

  it('is taken from the settings without a look', async () => {
    const simulator = await appliance();
    expect(await vendorOf(callsOf(simulator, { vendor: 'other' }))).toBe('other');
    expect(simulator.requests).toEqual([]);
  });

  it('is BAD_CONFIG when there are two or none, naming them', async () => {
    const link = { href: '/api/v1/configuration/uac/x' };
    for (const [keys, words] of [
      [['host-enforcer', 'alpha-enforcer', 'beta-enforcer'], 'alpha-enforcer, beta-enforcer'],
      [['host-enforcer'], 'no key'],
    ] as const) {
      const server = await wire(() => http(200, JSON.stringify(Object.fromEntries(keys.map((key) => [key, link])))));
      const error = await failure(vendorOf(callsOf(server)));
      expect(error.code).toBe('BAD_CONFIG');
      expect(error.message).toContain(words);
    }
  });
});

describe('the brand', () => {
  it('begins with a capital, however it is written', async () => {
    const simulator = await appliance();
    expect(await brandOf(callsOf(simulator, { brand: 'zenith' }))).toBe('Zenith');
    expect(await brandOf(callsOf(simulator, { brand: 'ZENITH' }))).toBe('ZENITH');
    expect(simulator.requests).toEqual([]);
    expect(await brandOf(callsOf(simulator))).toBe('Apex');
  });
});
