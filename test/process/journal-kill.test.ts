import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { simulatorCertificate, gatewayFor, asBulkResult, settingsFor, listWriteLines } from '../helpers/simulated-appliance';
import {
  serializeConfiguration,
  listJournalFiles,
  createTemporaryFolder,
  readAllJournalLines,
  fetchJournalEntries,
  checkJournal,
} from '../helpers/journal';
import { startTestSimulator } from '../helpers/simulated-appliance';
import { startChild } from '../helpers/transfer';

/** A few in each run of the tests; `JOURNAL_KILLS=50` for as many as one likes. */
const KILLS = Number(process.env.JOURNAL_KILLS ?? 4);
const COUNT = 200;

/** How often each stands in a list. */
function counted(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

describe('a process that is killed at any moment', () => {
  it.each(Array.from({ length: KILLS }, (_, index) => [index + 1, 1 + Math.floor(Math.random() * (COUNT - 20)), index % 2 === 0 ? 1 : 8]))(
    'leaves a journal that verifies and contains every write of the appliance (run %i: after %i writes, %i at once)',
    async (_run, moment, atOnce) => {
      const simulator = await startTestSimulator();
      const before = serializeConfiguration(simulator);
      const journal = createTemporaryFolder();
      const settings = settingsFor(simulator, { name: 'vpn-1', journal, tls: { ca: simulatorCertificate.cert } });
      const process = startChild('journal-child.ts', { settings, count: COUNT, atOnce });
      const over = once(process, 'exit');
      while (listWriteLines(simulator).length < moment && process.exitCode === null) await wait(1);
      process.kill('SIGKILL');
      await over;
      // What had arrived is carried out all the same.
      while (simulator.openConnections > 0) await wait(5);

      const gateway = gatewayFor(simulator, { name: 'vpn-1', journal });
      expect(await checkJournal(gateway)).toMatchObject({ ok: true, broken: [] });
      const lines = readAllJournalLines(journal, true);
      const announced = counted([...new Map(lines.map((line) => [line.id, `${line.request.method} ${line.request.path}`])).values()]);
      for (const [line, count] of counted(listWriteLines(simulator))) expect(announced.get(line) ?? 0, line).toBeGreaterThanOrEqual(count);

      if (atOnce > 1) return;
      const { data } = await gateway.run('journal.undo', { id: (await fetchJournalEntries(gateway)).filter(({ undo }) => undo) });
      expect(asBulkResult(data).results.filter((result) => 'ok' in result && !result.ok)).toEqual([]);
      expect(serializeConfiguration(simulator)).toBe(before);
      expect(listJournalFiles(journal)).toHaveLength(2);
      expect(await checkJournal(gateway)).toMatchObject({ ok: true });
    },
  );
});
