import { wildcards } from '../areas/sessions/patterns';
import { badInput } from '../model/error';
import { sentence } from '../model/sentence';

/** What a selection looks at. */
export interface Selectable {
  readonly name: string;
  readonly tags: readonly string[];
}

export type Select = (of: Selectable) => boolean;

/** Nobody writes more; a message might. */
const MOST_CHARACTERS = 10_000;
/** A word: with an exclamation mark it must not hold, `tag:` looks at the tags, quotation marks keep spaces together. */
const WORD = /(!?)(tag:)?(?:"([^"]*)"|([^\s|"!][^\s|"]*))|(\|)|(\S)/g;

/**
 * Reads a selection: names with `*`, `tag:eu`, `!tag:lab`; words separated by spaces must all hold, `|` stands between alternatives.
 * Errors: `BAD_INPUT` for one that is empty or has an empty alternative (it would be everything), and for what is none.
 */
export function readSelection(text: unknown): Select {
  if (typeof text !== 'string' || text.trim() === '')
    throw badInput('No appliance is selected. Enter names, tag:name, or * for all of the inventory.');
  if (text.length > MOST_CHARACTERS) throw badInput(`A selection has at most ${MOST_CHARACTERS} characters.`);
  const alternatives: Select[][] = [[]];
  for (const [, not, tag, quoted, plain, or, odd] of text.matchAll(WORD)) {
    if (odd !== undefined) throw badInput(sentence`The selection ${text} cannot be read: a quotation mark is missing.`);
    if (or !== undefined) alternatives.push([]);
    else
      alternatives
        .at(-1)
        ?.push(wordOf({ not: not !== '', tag: tag !== undefined, pattern: quoted ?? plain ?? '', quoted: quoted !== undefined }));
  }
  if (alternatives.some((words) => words.length === 0))
    throw badInput(sentence`In the selection ${text} nothing stands on one side of a |. That would be every appliance.`);
  return (of) => alternatives.some((words) => words.every((holds) => holds(of)));
}

function wordOf({ not, tag, pattern, quoted }: { not: boolean; tag: boolean; pattern: string; quoted: boolean }): Select {
  if (pattern === '') throw badInput('A word of the selection is empty. Enter a name or tag:name.');
  if (!tag && !quoted && /^[a-z]+:/i.test(pattern))
    throw badInput(
      sentence`${pattern} is no word of a selection: tags are written tag:name. A name with a colon has to stand in quotation marks.`,
    );
  const fits = pattern.includes('*') ? wildcards(pattern) : (text: string) => text === pattern;
  const holds: Select = tag ? ({ tags }) => tags.some(fits) : ({ name }) => fits(name);
  return not ? (of) => !holds(of) : holds;
}
