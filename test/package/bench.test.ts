import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { changeRows } from '../../bench/change-rows.mjs';
import { messageRows } from '../../bench/message-rows.mjs';
import { rowsFor } from '../../bench/rows.mjs';
import { serverRows } from '../../bench/server-rows.mjs';
import { QUICK } from '../../bench/size.mjs';
import { transferRows } from '../../bench/transfer-rows.mjs';
import { watchRows } from '../../bench/watch-rows.mjs';
import { root } from '../../scripts/tools.mjs';

interface Results {
  megabytes: number;
  lines: {
    id: string;
    version: number;
    samples: Record<string, Record<string, number>[]>;
    results: { text: string; spread: { median: number } }[];
  }[];
}

const out = mkdtempSync(join(tmpdir(), 'gateway-bench-test-'));
afterAll(() => rmSync(out, { recursive: true, force: true }));

// The figures of so short a run say nothing: what is tested is that every contender of every row does its work and is counted.
describe('the benchmark', () => {
  it('the benchmark runs every row on Node-RED 4.1 and 5.0', async () => {
    await promisify(execFile)(process.execPath, [join(root, 'bench', 'run.mjs'), '--quick', '--out', out], { maxBuffer: 1 << 24 });
    const { lines, megabytes } = JSON.parse(readFileSync(join(out, 'results.json'), 'utf8')) as Results;
    const rows = [
      ...messageRows(QUICK),
      ...rowsFor(QUICK),
      ...serverRows(QUICK),
      ...transferRows(QUICK),
      ...changeRows(QUICK),
      ...watchRows(QUICK),
    ];
    const wanted = [4, 5].flatMap((version) =>
      rows.filter(({ versions = [4] }) => (versions as number[]).includes(version)).map(({ id }) => `${version} ${id}`),
    );
    expect(lines.map(({ version, id }) => `${version} ${id}`)).toEqual(expect.arrayContaining([...wanted, '4 start']));
    for (const { id, samples, results } of lines) {
      const contenders = rows.find((row) => row.id === id)?.contenders;
      if (contenders) expect(Object.keys(samples).sort(), id).toEqual(Object.keys(contenders).sort());
      expect(results.filter(({ spread }) => !Number.isFinite(spread.median)).map(({ text }) => `${id}: ${text}`)).toEqual([]);
    }
    expect(megabytes).toBeLessThanOrEqual(9.5);
    expect(readFileSync(join(out, 'results.md'), 'utf8')).toContain('| 4 | Node-RED start |');
    expect(readFileSync(join(out, 'performance.svg'), 'utf8')).toContain('</svg>');
  });
});
