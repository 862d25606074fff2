import { describe, expect, it, onTestFinished } from 'vitest';
import { GatewayRegistry, Inventory } from '../../../src/inventory';
import { forEachInTimeSlices } from '../../../src/inventory/time-slices';

const spin = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

describe('a loop in slices', () => {
  it('forEachInTimeSlices visits all items in order and lets other work run every 10 ms', async () => {
    const seen: unknown[] = [];
    setImmediate(() => seen.push('other work'));
    await forEachInTimeSlices(['a', 'b', 'c'], (item, index) => {
      seen.push([item, index]);
      spin(index === 0 ? 11 : 0);
    });
    expect(seen).toEqual([['a', 0], 'other work', ['b', 1], ['c', 2]]);
  });

  it('forEachInTimeSlices rejects with the error of its work', async () => {
    const work = (): never => {
      throw new Error('on purpose');
    };
    await expect(forEachInTimeSlices([1], work)).rejects.toThrow('on purpose');
  });
});

describe('the load of an inventory', () => {
  /** An inventory whose load takes several slices. */
  function createSlowInventory(): { gateways: GatewayRegistry; inventory: Inventory } {
    const gateways = new GatewayRegistry({}, 1);
    onTestFinished(() => gateways.close());
    const toSettings = ({ url, name }: Readonly<Record<string, unknown>>): { url: string; login: 'key'; apiKey: string } => {
      if (name === 'slow') spin(11);
      return { url: String(url), login: 'key', apiKey: 'key' };
    };
    return {
      gateways,
      inventory: new Inventory({ defaults: { login: 'key' }, credentials: { default: { apiKey: 'key' } }, gateways, toSettings }),
    };
  }
  const entry = (name: string): object => ({ name, url: `https://${name}.example.com` });
  const listNames = (inventory: Inventory): string[] => inventory.appliances.map(({ name }) => name);

  it('an inventory that is closed during a load stays empty and holds no gateway', async () => {
    const { gateways, inventory } = createSlowInventory();
    await inventory.loadEntries([entry('a')]);
    inventory.findAppliance('a')?.gateway();
    expect(gateways.size).toBe(1);
    const load = inventory.loadEntries([entry('slow'), entry('a')]);
    inventory.close();
    await load;
    expect(listNames(inventory)).toEqual([]);
    await expect.poll(() => gateways.size).toBe(0);
  });

  it('an inventory uses the list of the latest load, even if an earlier load ends later', async () => {
    const { inventory } = createSlowInventory();
    await Promise.all([inventory.loadEntries([entry('slow'), entry('a')]), inventory.loadEntries([entry('b')])]);
    expect(listNames(inventory)).toEqual(['b']);
  });
});

describe('gateways with certificates in buffers', () => {
  it('gateways are shared if their settings have buffers with the same bytes, and only then', () => {
    const gateways = new GatewayRegistry();
    onTestFinished(() => gateways.close());
    const ca = Buffer.from('one');
    const acquire = (tls: object): unknown => gateways.acquire({ url: 'https://a.example.com', login: 'key', apiKey: 'key', tls }).gateway;
    const first = acquire({ ca });
    expect([acquire({ ca }), acquire({ ca: Buffer.from('one') })]).toEqual([first, first]);
    const others = [{ ca: Buffer.from('two') }, { ca: 'one' }, { ca: [ca] }, { cert: ca }, {}].map(acquire);
    expect(new Set([first, ...others]).size).toBe(6);
    expect(acquire({ ca: [Buffer.from('one')] })).toBe(others[2]);
  });
});
