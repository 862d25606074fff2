import { createHash } from 'node:crypto';
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Progress } from '../../../../src/model/operation';
import { expectFailure, startSimulatorWithGateway } from '../../../helpers/simulated-appliance';
import { createTemporaryFolder, listNames } from '../../../helpers/transfer';

const MIB = 1 << 20;
const isExport = ({ path }: { path: string }): boolean => path.includes('export-xml') || path.includes('binary-configuration');

describe.each([
  ['export-xml', 'import-xml', 'xml'],
  ['export-binary', 'import-binary', 'zip'],
] as const)('a large %s', (operation, back, verified) => {
  it('a large export can be read while the simulator generates it, and can be imported again', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { largeExport: 3 } });
    const file = join(createTemporaryFolder(), 'large');
    const { data, envelope } = await gateway.run(`transfer.${operation}`, { file });
    const hash = createHash('sha256').update(readFileSync(file)).digest('hex');
    expect([envelope.verified, data]).toEqual([verified, { file, bytes: statSync(file).size, sha256: hash }]);
    expect(statSync(file).size / MIB).toBeCloseTo(3, 0);
    const roles = simulator.state.configuration.collection('users', 'user-roles', 'user-role').items.size;
    await gateway.run(`transfer.${back}`, { file });
    const after = simulator.state.configuration.collection('users', 'user-roles', 'user-role').items.size;
    expect(after > roles).toBe(verified === 'xml');
  });

  it.each([
    ['cut in the middle', { cut: 'half', times: 3 }],
    ['cut at 99.9 percent', { cut: Math.floor(3 * MIB * 0.999), times: 3 }],
    ['too short, with a length that fits', { truncate: Math.floor(3 * MIB * 0.999) }],
    ['corrupt in one byte', { corrupt: 2 * MIB }],
  ] as const)('a large export leaves no file when it is %s', async (_name, fault) => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { largeExport: 3 } });
    const path = createTemporaryFolder();
    simulator.fault({ match: isExport, ...fault });
    const error = await expectFailure(gateway.run(`transfer.${operation}`, { file: join(path, 'large') }));
    expect([error.code, listNames(path)]).toEqual(['BAD_RESPONSE', []]);
  });
});

it('a slow large export reports its progress and can be canceled', async () => {
  const { gateway } = await startSimulatorWithGateway({ variants: { largeExport: 8, transferRate: 4000 } });
  const path = createTemporaryFolder();
  const told: Progress[] = [];
  const abort = new AbortController();
  const onProgress = (advance: Progress): void => {
    if (told.push(advance) === 3) abort.abort();
  };
  const run = gateway.run('transfer.export-xml', { file: join(path, 'large') }, { signal: abort.signal, onProgress });
  expect((await expectFailure(run)).code).toBe('ABORTED');
  const [first, second] = told as { bytes: number; total: number }[];
  expect(first?.total).toBeCloseTo(8 * MIB, -6);
  expect((second?.bytes ?? 0) > (first?.bytes ?? 0)).toBe(true);
  expect(listNames(path)).toEqual([]);
});

it('the simulator accepts an import that is larger than its memory limit', async () => {
  const { simulator, gateway } = await startSimulatorWithGateway();
  const file = join(createTemporaryFolder(), 'large');
  writeFileSync(file, '');
  truncateSync(file, 70 * MIB);
  for (const operation of ['import-xml', 'import-binary']) {
    const { envelope } = await gateway.run(`transfer.${operation}`, { file });
    expect(envelope).toMatchObject({ ok: true, requests: 1 });
  }
  expect(simulator.requests.every(({ body }) => body.length <= MIB)).toBe(true);
});
