import { describe, expect, it } from 'vitest';
import { RUNTIME_TEXTS } from '../../nodes/common/runtime-texts';
import { formatPlural } from '../../nodes/editor/text';
import type { Texts } from '../../scripts/editor/table.mjs';
import { mergeTexts, readOwnTexts, translateAll, Translation } from '../../scripts/editor/translate.mjs';
import { root } from '../../scripts/tools.mjs';

describe('Translation', () => {
  it('the translation translates the help sentence by sentence and keeps names, types and samples', () => {
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
  ])('the translation puts labels into the quotation marks of %s', (language, expected) => {
    const translation = new Translation(language, { One: 'Eins', 'Two.': 'Zwei.' });
    expect(translation.help(': name (string) : “One”. Two.')).toBe(`: name (string) : ${expected}`);
  });

  it('the translation keeps an untranslated text in English and records it as missing', () => {
    const translation = new Translation('ja', { One: '一' });
    expect(translation.catalog({ a: { b: 'One', c: 'Two' }, d: '__n__' })).toEqual({ a: { b: '一', c: 'Two' }, d: '__n__' });
    expect([...translation.missing]).toEqual(['Two']);
  });
});

const ownTexts = mergeTexts(readOwnTexts(root), RUNTIME_TEXTS);
const catalogs = new Map(translateAll(root, ownTexts, '').map(([language, catalog]) => [language, catalog]));

function* flattenCatalog(texts: Texts, prefix = ''): Generator<[string, string]> {
  for (const [key, value] of Object.entries(texts)) {
    if (typeof value === 'string') yield [`${prefix}${key}`, value];
    else yield* flattenCatalog(value, `${prefix}${key}.`);
  }
}

describe('formatPlural', () => {
  /** Matches a text that counts objects by name, not by unit. */
  const COUNTED = /__\w+__ (?!ms\b|is\b|was\b|has\b|does\b|expects\b)[a-z]+s\b/;

  it('the catalog has a singular text for every text that counts objects', () => {
    const texts = new Map(flattenCatalog(ownTexts));
    const counted = [...texts].filter(([key, text]) => COUNTED.test(text) && !key.endsWith('-one'));
    expect(counted.length).toBeGreaterThan(12);
    expect(counted.filter(([key]) => !texts.has(`${key}-one`))).toEqual([]);
  });

  it.each([
    ['en-US', '1 field would change:', '2 fields would change:', '0 of 1 appliance responded.'],
    ['de', '1 Feld würde sich ändern:', '2 Felder würden sich ändern:', '0 von 1 Appliance hat geantwortet.'],
  ])('a text with a count uses the singular and the plural form in %s', (language, one, two, tested) => {
    const texts = new Map(flattenCatalog(catalogs.get(language) ?? {}));
    const node = {
      _: (key: string, values: Record<string, unknown> = {}) =>
        (texts.get(key) ?? key).replace(/__(\w+)__/g, (_all, name: string) => String(values[name])),
    };
    expect(formatPlural(node, 'current.differs', 1)).toBe(one);
    expect(formatPlural(node, 'current.differs', 2)).toBe(two);
    expect(formatPlural(node, 'inventory.tested', 1, { well: 0 })).toBe(tested);
  });
});
