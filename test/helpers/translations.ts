import { describe, expect, it } from 'vitest';
import { translationsOf } from '../../scripts/build-editor.mjs';
import type { Texts } from '../../scripts/editor/table.mjs';

/** What has to stand in a translation as it stands in the text: places of values, code, tags. */
function fixed(text: string): string[] {
  return (text.match(/__[\w-]+?__|`[^`]*`|<[^>]+>|msg\.\w+(?:\.\w+)*/g) ?? []).sort();
}

/** Each other language of the package in `folder` has all of its English texts, as they were built. */
export function describeTranslations(folder: string, catalogue: Texts, help: string): void {
  describe.each(translationsOf(folder))('%s', (_language, translation) => {
    const texts = translation.catalogue(catalogue);
    translation.help(help);

    it('has every text, and none too many', () => {
      expect([...translation.missing]).toEqual([]);
      expect(translation.unused).toEqual([]);
      expect(Object.keys(texts)).toEqual(Object.keys(catalogue));
      expect(translation.used.size).toBeGreaterThan(100);
    });

    it('has the places of values, code and tags of each', () => {
      const odd = [...translation.used].filter((text) => {
        const said = translation.text(text);
        return said.trim() === '' || JSON.stringify(fixed(said)) !== JSON.stringify(fixed(text));
      });
      expect(odd).toEqual([]);
    });
  });
}
