import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { appliance, certificate, gatewayFor, settingsFor, writes } from './library/appliance';
import { files, folder, linesOf, list, verify } from './library/journal';
import { child } from './library/transfer';

const COUNT = 80;

describe('a journal that two processes write at once', () => {
  it('verifies all the while, and has every write of both', async () => {
    const simulator = await appliance();
    const journal = folder();
    const settings = settingsFor(simulator, { name: 'vpn-1', journal, tls: { ca: certificate.cert } });
    const running = [1, 2].map(() => child('journal-child.ts', { settings, count: COUNT, atOnce: 4 }));
    const gateway = gatewayFor(simulator, { name: 'vpn-1', journal });
    let over = false;
    const ended = Promise.all(running.map((process) => once(process, 'exit'))).then((codes) => {
      over = true;
      return codes;
    });
    await expect.poll(() => files(journal).length, { timeout: 60_000 }).toBe(2);
    while (!over) expect(await verify(gateway)).toMatchObject({ ok: true, broken: [] });
    expect(await ended).toEqual([
      [0, null],
      [0, null],
    ]);
    expect(await verify(gateway)).toMatchObject({ files: 2, ok: true });
    const entries = await list(gateway);
    expect(entries.filter(({ ok }) => ok === null)).toEqual([]);
    const announced = new Set(entries.map(({ request }) => `${request.method} ${request.path}`));
    expect(writes(simulator).filter((line) => !announced.has(line))).toEqual([]);
    expect(entries.length).toBe(writes(simulator).length);
    expect(new Set(linesOf(journal).map(({ id }) => id)).size).toBe(entries.length);
  });
});
