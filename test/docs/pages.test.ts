import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildHelp } from '../../scripts/editor/help.mjs';
import { buildTable } from '../../scripts/editor/table.mjs';
import { mergeTexts, readOwnTexts } from '../../scripts/editor/translate.mjs';
import { RUNTIME_TEXTS } from '../../nodes/common/runtime-texts';
import { createPages, findStalePages } from '../../scripts/docs/index.mjs';
import { root } from '../../scripts/tools.mjs';
import { areas, operations } from '../../src/areas';
import { SESSION_FILTER_FIELDS } from '../../src/areas/sessions/session-filter';
import { ERROR_CODES } from '../../src/model/error-codes';
import { parseVariant } from '../../src/simulator/variants';
import { describeTranslations } from '../helpers/translations';

const document = (name: string): string => readFileSync(join(root, 'docs', name), 'utf8');

/** Rows of all tables, as cells; in a cell `\|` is a stroke. */
const rows = (text: string): string[][] =>
  [...text.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|')));
const codes = (text = ''): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

describe('the page of errors', () => {
  it('the errors page lists every error code once, with its meaning and what to do', () => {
    const told = rows(document('reference/errors.md')).filter(([first = '']) => first.startsWith('`'));
    expect(told.flatMap(([first]) => codes(first)).sort()).toEqual([...ERROR_CODES].sort());
    for (const row of told)
      expect(
        row.slice(1).map((cell) => cell.length > 12),
        row[0],
      ).toEqual([true, true]);
  });
});

describe('permissions', () => {
  const told = rows(document('reference/permissions.md')).flatMap(([names, reads, writes]) =>
    codes(names).flatMap((name) => (/^[a-z]+\.[a-z-]+$/.test(name) ? [{ name, reads, writes }] : [])),
  );

  it('the permissions page lists every operation once', () => {
    expect(told.map(({ name }) => name).sort()).toEqual([...operations.keys()].sort());
  });

  it.each(told)('the reads and writes that the permissions page lists for $name fit what the operation does', ({ name, reads, writes }) => {
    const { effect, example } = operations.get(name) ?? {};
    const [method = ''] = (example?.request ?? '').split(' ');
    if (effect === 'read') expect([reads === '–', writes]).toEqual([false, '–']);
    else if (!name.startsWith('login.')) expect(writes).not.toBe('–');
    if (method === 'GET') expect(reads).not.toBe('–');
    if (/PUT|DELETE/.test(method)) expect(writes).not.toBe('–');
  });
});

describe('releases', () => {
  it('the page of releases names only variants of the simulator that exist', () => {
    const named = rows(document('reference/releases.md'))
      .flatMap(([, , variant]) => codes(variant))
      .filter((code) => /^\w+=/.test(code));
    expect(named.length).toBeGreaterThan(7);
    for (const variant of named) expect(Object.keys(parseVariant(variant))).toEqual([variant.split('=')[0]]);
  });
});

describe('the generated pages', () => {
  it('the generated pages are up to date', () => {
    expect(findStalePages(root, createPages(root, areas))).toEqual([]);
  });
});

// Of the sources, so that a text without a translation is reported before a build.
describe('the texts of the operation table', () => {
  const words = (name: string): string => readFileSync(join(root, 'nodes', 'locales', name), 'utf8');
  const { texts } = buildTable(areas);

  it('every text of the operation table is non-empty', () => {
    expect(JSON.stringify(texts)).not.toContain('""');
  });

  const pages = Object.fromEntries(['appliance', 'inventory', 'watch'].map((name) => [`gateway-${name}`, words(`${name}.en-US.md`)]));
  describeTranslations(
    root,
    { ...mergeTexts(readOwnTexts(root), RUNTIME_TEXTS), ...texts },
    buildHelp(areas, pages, SESSION_FILTER_FIELDS),
  );
});
