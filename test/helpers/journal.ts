import { readdirSync, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { sealJournalLine, type JournalEntry, type JournalLine } from '../../src/journal/journal-line';
import type { JournalVerification } from '../../src/journal/verify-journal';
import type { Settings } from '../../src/model/settings';
import { Resource } from '../../src/simulator/tree';
import type { Simulator, SimulatorOptions } from '../../src/simulator';
import { startSimulatorWithGateway, type AnyGateway } from './simulated-appliance';
import { createTemporaryFolder } from './temporary';

export { createTemporaryFolder };

export interface JournalFixture {
  readonly simulator: Simulator;
  readonly gateway: AnyGateway;
  readonly journal: string;
}

/** A gateway with a journal. */
export async function startWithJournal(options: SimulatorOptions = {}, more: Partial<Settings> = {}): Promise<JournalFixture> {
  const journal = more.journal ?? createTemporaryFolder();
  return { ...(await startSimulatorWithGateway(options, { name: 'vpn-1', ...more, journal })), journal };
}

export async function fetchJournalEntries(gateway: AnyGateway, input: Record<string, unknown> = {}): Promise<JournalEntry[]> {
  return (await gateway.run('journal.list', input)).data as JournalEntry[];
}

export async function checkJournal(gateway: AnyGateway): Promise<JournalVerification> {
  return (await gateway.run('journal.verify')).data as JournalVerification;
}

/** Names and contents of the files. */
export function listJournalFiles(journal: string): string[] {
  return readdirSync(journal).filter((name) => name.endsWith('.jsonl'));
}

/** With `torn`, an incomplete last line of a killed process is skipped. */
export function readAllJournalLines(journal: string, allowTornLine = false): JournalLine[] {
  return listJournalFiles(journal).flatMap((name) => {
    const lines = readFileSync(join(journal, name), 'utf8').split('\n');
    const rest = lines.pop() ?? '';
    if (!allowTornLine && rest !== '') throw new Error(`${name} ends in half of a line`);
    return lines.map((line) => JSON.parse(line) as JournalLine);
  });
}

/** The text of a journal file as another process would have written it: an id belongs to the file that it names. */
export function rewriteForFile(text: string, name: string): string {
  let prev = '';
  const lines = text.split('\n').slice(0, -1);
  const rewritten = lines.map((raw) => {
    const line = { ...(JSON.parse(raw) as JournalLine), hash: undefined };
    const sealed = sealJournalLine({ ...line, id: `${name.replace('.jsonl', '')}-${line.id.split('-').at(-1)}`, prev });
    prev = sealed.hash;
    return sealed.text;
  });
  return rewritten.join('');
}

/** The configuration without secrets, sorted by name. */
export function serializeConfiguration({ state }: Simulator): string {
  const shown = (child: unknown): unknown => {
    if (child instanceof Resource) {
      const own = [...child.values].filter(([name]) => !child.shape[name]?.isSecret);
      return Object.fromEntries([...own, ...[...child.children].map(([name, one]) => [`>${name}`, shown(one)] as const)].sort(byName));
    }
    const { items } = child as { items: Map<string, Resource> };
    return Object.fromEntries([...items].map(([name, item]) => [name, shown(item)] as const).sort(byName));
  };
  return JSON.stringify(shown(state.configuration), null, 1);
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}

type Method = (...values: readonly unknown[]) => Promise<unknown>;

/** Every open file of `node:fs/promises` does something else meanwhile; each gets what it would have done, and with which values. */
export async function withPatchedFileHandles(
  methods: Record<string, (own: (...others: readonly unknown[]) => Promise<void>, values: readonly unknown[]) => Promise<unknown>>,
  work: () => Promise<void>,
): Promise<void> {
  const probe = await open(__filename, 'r');
  await probe.close();
  const handles = Object.getPrototypeOf(probe) as Record<string, Method>;
  const own = Object.fromEntries(Object.keys(methods).map((name) => [name, handles[name] as Method]));
  const restore = (): void => void Object.assign(handles, own);
  // Also after a test that hangs, so that later tests have working files.
  onTestFinished(restore);
  for (const [name, method] of Object.entries(methods))
    handles[name] = function (this: unknown, ...values: readonly unknown[]) {
      return method((...others) => own[name]?.apply(this, [...(others.length > 0 ? others : values)]) as Promise<void>, values);
    };
  try {
    await work();
  } finally {
    restore();
  }
}
