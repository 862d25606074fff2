import { createWildcardMatcher } from '../areas/sessions/patterns';
import { badInput } from '../model/error';
import { safeMessage } from '../model/safe-message';

/** What a selection looks at. */
export interface Selectable {
  readonly name: string;
  readonly tags: readonly string[];
}

export type SelectionPredicate = (appliance: Selectable) => boolean;

/** Nobody writes more; a message might. */
const MAX_SELECTION_CHARACTERS = 10_000;
/** A word: with an exclamation mark it must not hold, `tag:` looks at the tags, quotation marks keep spaces together. */
const WORD_PATTERN = /(!?)(tag:)?(?:"([^"]*)"|([^\s|"!][^\s|"]*))|(\|)|(\S)/g;

/**
 * Reads a selection: names with `*`, `tag:eu`, `!tag:lab`; words separated by spaces must all hold, `|` stands between alternatives.
 * Errors: `BAD_INPUT` for one that is empty or has an empty alternative (it would be everything), and for what is none.
 */
export function parseSelection(text: unknown): SelectionPredicate {
  if (typeof text !== 'string' || text.trim() === '')
    throw badInput('No appliance is selected. Enter names, tag:name, or * for all of the inventory.');
  if (text.length > MAX_SELECTION_CHARACTERS) throw badInput(`A selection has at most ${MAX_SELECTION_CHARACTERS} characters.`);
  const alternatives: SelectionPredicate[][] = [[]];
  for (const [, negation, tag, quoted, plain, separator, unreadable] of text.matchAll(WORD_PATTERN)) {
    if (unreadable !== undefined) throw badInput(safeMessage`The selection ${text} cannot be read: a quotation mark is missing.`);
    if (separator !== undefined) alternatives.push([]);
    else
      alternatives
        .at(-1)
        ?.push(
          parseWord({ isNegated: negation !== '', tag: tag !== undefined, pattern: quoted ?? plain ?? '', isQuoted: quoted !== undefined }),
        );
  }
  if (alternatives.some((words) => words.length === 0))
    throw badInput(safeMessage`In the selection ${text} nothing stands on one side of a |. That would be every appliance.`);
  return (appliance) => alternatives.some((words) => words.every((matches) => matches(appliance)));
}

function parseWord({
  isNegated,
  tag,
  pattern,
  isQuoted,
}: {
  isNegated: boolean;
  tag: boolean;
  pattern: string;
  isQuoted: boolean;
}): SelectionPredicate {
  if (pattern === '') throw badInput('A word of the selection is empty. Enter a name or tag:name.');
  if (!tag && !isQuoted && /^[a-z]+:/i.test(pattern))
    throw badInput(
      safeMessage`${pattern} is no word of a selection: tags are written tag:name. A name with a colon has to stand in quotation marks.`,
    );
  const matchesText = pattern.includes('*') ? createWildcardMatcher(pattern) : (text: string) => text === pattern;
  const matchesWord: SelectionPredicate = tag ? ({ tags }) => tags.some(matchesText) : ({ name }) => matchesText(name);
  return isNegated ? (appliance) => !matchesWord(appliance) : matchesWord;
}
