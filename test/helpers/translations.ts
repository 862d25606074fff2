import { describe, expect, it } from 'vitest';
import type { Texts } from '../../scripts/editor/table.mjs';
import { readTranslations } from '../../scripts/editor/translate.mjs';

/** At most this part of the texts may still be English in another language. */
const MAX_MISSING_PERCENT = 20;

/** Returns what a translation must keep: placeholders, code, tags, and message properties. */
function findFixedParts(text: string): string[] {
  return (text.match(/__[\w-]+?__|`[^`]*`|<[^>]+>|msg\.\w+(?:\.\w+)*/g) ?? []).sort();
}

/** Tests the other languages of the package in `folder` against its English catalog and help. */
export function describeTranslations(folder: string, catalog: Texts, help: string): void {
  describe.each(readTranslations(folder))('the %s translation', (language, translation) => {
    const texts = translation.catalog(catalog);
    translation.help(help);

    it('covers most texts, and a text without a translation stays English with a warning', () => {
      const { missing, unused, used } = translation;
      if (missing.size > 0) console.warn(`${language}: ${missing.size} texts have no translation:\n${[...missing].join('\n')}`);
      if (unused.length > 0) console.warn(`${language}: ${unused.length} translations are unused:\n${unused.join('\n')}`);
      expect(Object.keys(texts)).toEqual(Object.keys(catalog));
      expect(used.size).toBeGreaterThan(100);
      expect((missing.size / used.size) * 100).toBeLessThan(MAX_MISSING_PERCENT);
    });

    it('keeps the placeholders, code, and tags of each text', () => {
      const damaged = [...translation.used].filter((text) => {
        const translated = translation.text(text);
        return translated.trim() === '' || JSON.stringify(findFixedParts(translated)) !== JSON.stringify(findFixedParts(text));
      });
      expect(damaged).toEqual([]);
    });
  });
}
