import { describe, expect, it } from 'vitest';
import { describeMeasuredCode, withFigures } from '../../scripts/docs/performance.mjs';

const PAGE = `Before.

<!-- figures: written by the build from bench/results/results.md -->
anything
<!-- end of figures -->

After.`;
const RESULTS = `# Measured

\`npm run bench\`, 2026-12-01, 5 repetitions.
${describeMeasuredCode('abc1234', '0123456789abcdef')}

## Ratios

| work | measured |
|---|---|
| reads | 1.20 |

## Medians

not on the page`;

describe('The figures of the performance page', () => {
  it('the performance page shows the figures of the results only if the measured code has not changed', () => {
    const page = withFigures(PAGE, RESULTS, '0123456789abcdef');
    expect(page).toContain('Measured on 2026-12-01 at commit `abc1234`.');
    expect(page).toContain('| reads | 1.20 |');
    expect(page).not.toMatch(/older than the code|anything|not on the page/);
    expect(page).toMatch(/^Before\.[\s\S]+After\.$/);
    expect(withFigures(page, RESULTS, '0123456789abcdef')).toBe(page);
  });

  it.each([
    ['the code has changed', RESULTS],
    ['the results name no code', RESULTS.replace(/^Measured at.*$/m, '')],
  ])('are left out and called older than the code if %s', (_case, results) => {
    const page = withFigures(PAGE, results, 'fedcba9876543210');
    expect(page).toContain('The last full run is of 2026-12-01.');
    expect(page).toContain('**older than the code**');
    expect(page).not.toContain('| reads |');
  });
});
