import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../../scripts/tools.mjs';
import { operations } from '../../src/areas';
import type { BulkResult } from '../../src/model/envelope';
import { settled } from '../examples/cookbook/pages';
import { startSimulatorWithGateway, type AnyGateway } from '../helpers/simulated-appliance';
import { place, runs, type Run } from './sample-runs';

// What the help shows of each operation: `UPDATE=1 npx vitest run test/editor/samples.test.ts` makes it anew.
const FILE = join(root, 'scripts', 'editor', 'samples.json');
const UPDATE = Boolean(process.env.UPDATE);
const MAX_KEYS = 6;

interface Sample {
  input?: unknown;
  payload: unknown;
  summary: string;
}
const samples = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, Sample>;

/** As much as shows what it is. */
function short(value: unknown): unknown {
  if (typeof value === 'string') return value.length > 160 ? `${value.slice(0, 160)}…` : value;
  if (Array.isArray(value)) return value.length > 1 ? [short(value[0]), `… ${value.length - 1} more`] : value.map(short);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const shown = entries.slice(0, MAX_KEYS).map(([key, inner]) => [key, short(inner)]);
  return Object.fromEntries(
    entries.length > MAX_KEYS + 1
      ? [...shown, ['…', `${entries.length - MAX_KEYS} more`]]
      : [...shown, ...entries.slice(MAX_KEYS).map(([key, inner]) => [key, short(inner)])],
  );
}

/** Several that need what others have left: each with its own way. */
const ways: Record<string, (gateway: AnyGateway) => Promise<Readonly<Record<string, unknown>>>> = {
  'backup.list': (gateway) => afterBackup(gateway),
  'backup.verify': (gateway) => afterBackup(gateway),
  'contain.release': async (gateway) => {
    await gateway.run('contain.contain', { name: 'j.doe' });
    return { name: 'j.doe' };
  },
  'contain.list': async (gateway) => {
    await gateway.run('contain.contain', { name: 'j.doe' });
    return {};
  },
  'snapshot.compare': async (gateway) => {
    const folder = place();
    await gateway.run('snapshot.take', { folder, path: 'users/user-roles' });
    await gateway.run('config.update', { path: 'users/user-roles/user-role/Users/description', body: { description: 'Changed' } });
    return { folder, path: 'users/user-roles' };
  },
  'snapshot.revert': async (gateway) => {
    const given = await ways['snapshot.compare']?.(gateway);
    return { ...given };
  },
  'journal.undo': async (gateway) => {
    const { envelope } = await gateway.run('users.disable', { server: 'System Local', username: 'contractor1' });
    return { id: envelope.journal };
  },
  'login.resume': async (gateway) => {
    const { data } = await gateway.run('login.login');
    return { code: '123456', resumeId: (data as { resumeId: string }).resumeId };
  },
};

async function afterBackup(gateway: AnyGateway): Promise<{ folder: string }> {
  const folder = place();
  await gateway.run('backup.run', { folder });
  return { folder };
}

/** Runs one against the simulator. */
async function sampleOf(name: string, { input, simulator: options, settings, keys, first = [] }: Run): Promise<Sample> {
  const more = name === 'journal.undo' ? { journal: place() } : (settings?.() ?? {});
  const { simulator, gateway } = await startSimulatorWithGateway({ ...options }, more);
  for (const [other, given] of first) await gateway.run(other, given);
  const own = typeof input === 'function' ? input(simulator) : input;
  const given = (await ways[name]?.(gateway)) ?? own ?? operations.get(name)?.example.input ?? {};
  const { data, envelope } = await gateway.run(name, given);
  const guards = Object.entries(operations.get(name)?.fields ?? {}).flatMap(([field, { guard }]) => (guard ? [field] : []));
  const told = Object.fromEntries(Object.entries(given).filter(([field]) => !guards.includes(field)));
  const whole = keys ? Object.fromEntries(keys.map((key) => [key, (data as Record<string, unknown>)[key]])) : data;
  return settled({ input: told, payload: short(whole), summary: envelope.summary }) as Sample;
}

const withData = [...operations].flatMap(([name, { data }]) => (/^result\b/.test(data) ? [] : [name]));

it('the file samples.json has sample output for every operation that returns data', () => {
  expect(withData).toEqual(expect.arrayContaining(Object.keys(runs)));
  if (!UPDATE) expect(Object.keys(samples).sort()).toEqual(withData.sort());
});

describe('the help sample', () => {
  it.each(withData)('the help sample of %s equals the output of a run', async (name) => {
    const sample = await sampleOf(name, runs[name] ?? {});
    if (UPDATE) {
      samples[name] = sample;
      writeFileSync(FILE, `${JSON.stringify(samples, null, 2)}\n`);
    }
    expect(samples[name]).toEqual(JSON.parse(JSON.stringify(sample)));
    const { results } = sample.payload as Partial<BulkResult>;
    if (results) expect(results.length).toBeGreaterThan(0);
  });
});
