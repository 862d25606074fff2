import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Texts } from '../../scripts/editor/table.mjs';
import { describeTranslations } from '../../test/helpers/translations';
import { STATUS_TEXTS, MESSAGE_TEXTS, NODE_TITLE_TEXTS } from '../nodes/i18n';

const folder = join(__dirname, '..');
const built = (file: string): string => readFileSync(join(folder, 'dist', 'nodes', 'locales', file), 'utf8');
const catalog = JSON.parse(built('en-US/fleet.json')) as Texts;
const help = built('en-US/fleet.html');

const languagesOf = (place: string): string[] =>
  readdirSync(join(place, 'nodes', 'locales'))
    .filter((file) => file.endsWith('.json'))
    .sort();

const textAt = (key: string): unknown =>
  key.split('.').reduce<unknown>((texts, part) => (texts as Record<string, unknown> | undefined)?.[part], catalog);

describe('fleet texts', () => {
  it('the fleet package is translated into the same languages as the main package', () => {
    expect(languagesOf(folder)).toEqual(languagesOf(join(folder, '..')));
  });

  it('the runtime texts of the fleet equal the texts in its catalog', () => {
    expect(textAt('fleet.status')).toEqual(STATUS_TEXTS);
    for (const [key, english] of Object.entries({ ...NODE_TITLE_TEXTS, ...MESSAGE_TEXTS })) expect(textAt(key), key).toBe(english);
  });

  it('property lines in the fleet help have only one colon, because Node-RED cuts the line at a second one', () => {
    const lines = help.split('\n').filter((line) => line.startsWith(': '));
    expect(lines.length).toBeGreaterThan(15);
    expect(lines.filter((line) => !/^: \S+ \([^)]*\) : [^:]+$/.test(line))).toEqual([]);
  });
});

describeTranslations(folder, catalog, help);
