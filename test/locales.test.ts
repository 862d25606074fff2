import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Texts } from '../scripts/editor/table.mjs';
import { Translation } from '../scripts/editor/translate.mjs';
import { root } from '../scripts/tools.mjs';
import { describeTranslations } from './support/translations';

const built = (...file: string[]): string => readFileSync(join(root, 'dist', 'nodes', ...file), 'utf8');

describe('a translation', () => {
  it('takes the help apart by sentences, and leaves names, types and samples as they are', () => {
    const help = [
      '<script type="text/markdown" data-help-name="a">',
      'One thing. Another',
      'thing.',
      '',
      '#### List it',
      '',
      '`list` (reads). Lists it. One thing.',
      '',
      ': name (optional string) : “List it”. Its name&#58; <code>{ "a"&#58; 1 }</code>. One thing.',
      '',
      '```json',
      '{ "One": "thing." }',
      '```',
      '</script>',
    ].join('\n');
    const translation = new Translation('xx', {
      'One thing.': 'Eins.',
      'Another thing.': 'Zwei.',
      'List it': 'Liste',
      reads: 'liest',
      'Its name: `{ "a": 1 }`.': 'Name: `{ "a": 1 }`.',
      'Lists it. One thing.': 'Beides.',
      'Gone.': 'Weg.',
    });
    expect(translation.help(help).split('\n')).toEqual([
      '<script type="text/markdown" data-help-name="a">',
      'Eins. Zwei.',
      '',
      '#### Liste',
      '',
      '`list` (liest). Beides.',
      '',
      ': name (optional string) : “Liste”. Name&#58; <code>{ "a"&#58; 1 }</code>. Eins.',
      '',
      '```json',
      '{ "One": "thing." }',
      '```',
      '</script>',
    ]);
    expect([...translation.missing]).toEqual([]);
    expect(translation.unused).toEqual(['Gone.']);
  });

  it.each([
    ['xx', '“Eins”. Zwei.'],
    ['de', '„Eins“. Zwei.'],
    ['ja', '「Eins」。Zwei.'],
  ])('quotes a label as %s does', (language, said) => {
    const translation = new Translation(language, { One: 'Eins', 'Two.': 'Zwei.' });
    expect(translation.help(': name (string) : “One”. Two.')).toBe(`: name (string) : ${said}`);
  });

  it('that lacks something says so, and the text stays English', () => {
    const translation = new Translation('ja', { One: '一' });
    expect(translation.catalogue({ a: { b: 'One', c: 'Two' }, d: '__n__' })).toEqual({ a: { b: '一', c: 'Two' }, d: '__n__' });
    expect([...translation.missing]).toEqual(['Two']);
  });
});

describeTranslations(root, JSON.parse(built('locales', 'en-US', 'gateway.json')) as Texts, built('help', 'en-US.html'));
