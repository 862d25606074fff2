import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root, toolFolder } from '../../scripts/tools.mjs';
import { areas } from '../../src/areas';

type Check = { test: boolean; nodes?: string[]; packages?: string[]; total?: number; license?: string };

const work = mkdtempSync(join(tmpdir(), 'gateway-scorecard-'));
let card: Record<string, Check> = {};
let output = '';

/** The registry entry of Node-RED, reduced to what the tool reads. */
function registryAnswer(): unknown {
  const [latest, maintenance] = ['node-red-v5', 'node-red'].map(
    (name) =>
      JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as { version: string; engines: { node: string } },
  );
  return {
    'dist-tags': { latest: latest?.version, 'v4-maintenance': maintenance?.version },
    versions: { [latest?.version ?? '']: { engines: latest?.engines } },
  };
}

// The scorecard of the flow library. Its exit code is 0 whatever fails, so what counts is the file that it writes.
beforeAll(() => {
  const tool = toolFolder('scorecard');
  const file = join(work, 'score.json');
  const program = join(tool, 'node_modules', 'node-red-dev', 'bin', 'run');
  const run = spawnSync(
    process.execPath,
    ['--require', join(tool, 'offline.cjs'), program, 'validate', '-p', root.replace(/[\\/]$/, ''), '-o', file],
    {
      cwd: tool,
      encoding: 'utf8',
      env: {
        ...process.env,
        SCORECARD_ANSWERS: JSON.stringify({ '/catalogue.json': { modules: [] }, '/node-red': registryAnswer() }),
      },
    },
  );
  output = `${run.stdout}${run.stderr}`;
  card = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Check>;
});

afterAll(() => rmSync(work, { recursive: true, force: true }));

describe('the scorecard', () => {
  it('the scorecard passes every check', () => {
    const failed = Object.entries(card).filter(([name, check]) => check.test === false && name !== 'D03');
    expect(failed, output).toEqual([]);
    expect(Object.keys(card)).toEqual(expect.arrayContaining(['P01', 'P03', 'P04', 'P05', 'P06', 'P07', 'N02', 'D01', 'D02', 'D03']));
  });

  it('the scorecard reports only undici as outdated, because its next major release does not run on Node.js 20', () => {
    expect(card.D03?.packages ?? [], output).toEqual(card.D03?.test ? [] : ['undici']);
  });

  it('the scorecard finds every node, and an example for each', () => {
    expect(card.N02?.nodes?.slice().sort(), output).toEqual([...areas.map((area) => `gateway-${area.name}`), 'gateway-watch'].sort());
    expect(output).not.toContain('Unable to parse');
  });

  it('the scorecard warns about the keyword node-red, and does not fail', () => {
    expect(output).toContain('Node-RED Keyword Found');
    expect(output).not.toMatch(/\bP05\b/);
  });
});
