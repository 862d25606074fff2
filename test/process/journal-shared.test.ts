import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { startTestSimulator, simulatorCertificate, gatewayFor, settingsFor, listWriteLines } from '../helpers/simulated-appliance';
import { listJournalFiles, createTemporaryFolder, readAllJournalLines, fetchJournalEntries, checkJournal } from '../helpers/journal';
import { startChild } from '../helpers/transfer';

const COUNT = 80;

describe('a journal that two processes write at once', () => {
  it('a journal that two processes write at once always verifies and contains every write of both', async () => {
    const simulator = await startTestSimulator();
    const journal = createTemporaryFolder();
    const settings = settingsFor(simulator, { name: 'vpn-1', journal, tls: { ca: simulatorCertificate.cert } });
    const running = [1, 2].map(() => startChild('journal-child.ts', { settings, count: COUNT, atOnce: 4 }));
    const gateway = gatewayFor(simulator, { name: 'vpn-1', journal });
    let over = false;
    const ended = Promise.all(running.map((process) => once(process, 'exit'))).then((codes) => {
      over = true;
      return codes;
    });
    await expect.poll(() => listJournalFiles(journal).length, { timeout: 60_000 }).toBe(2);
    while (!over) expect(await checkJournal(gateway)).toMatchObject({ ok: true, broken: [] });
    expect(await ended).toEqual([
      [0, null],
      [0, null],
    ]);
    expect(await checkJournal(gateway)).toMatchObject({ files: 2, ok: true });
    const entries = await fetchJournalEntries(gateway);
    expect(entries.filter(({ ok }) => ok === null)).toEqual([]);
    const announced = new Set(entries.map(({ request }) => `${request.method} ${request.path}`));
    expect(listWriteLines(simulator).filter((line) => !announced.has(line))).toEqual([]);
    expect(entries.length).toBe(listWriteLines(simulator).length);
    expect(new Set(readAllJournalLines(journal).map(({ id }) => id)).size).toBe(entries.length);
  });
});
