import { createWildcardMatcher } from '../areas/sessions/patterns';
import { badInput } from '../model/error';
import { safeMessage } from '../model/safe-message';

/** The properties of an appliance that a selection tests. */
export interface Selectable {
  readonly name: string;
  readonly tags: readonly string[];
}

export type SelectionPredicate = (appliance: Selectable) => boolean;

/** Maximum length of a selection, because a message can contain it. */
const MAX_SELECTION_CHARACTERS = 10_000;
/** Matches one word of a selection: `!` negates the word, `tag:` tests the tags, and quotation marks allow spaces. */
const WORD_PATTERN = /(!?)(tag:)?(?:"([^"]*)"|([^\s|"!][^\s|"]*))|(\|)|(\S)/g;

/**
 * Parses a selection: names with `*`, `tag:eu` and `!tag:lab`. Words separated by spaces must all match; `|` separates alternatives. Errors:
 * `BAD_INPUT` for a selection that is invalid, empty or has an empty alternative, because that would select everything.
 */
export function parseSelection(text: unknown): SelectionPredicate {
  if (typeof text !== 'string' || text.trim() === '')
    throw badInput('No appliance is selected. Enter names, tag:name, or * for all appliances of the inventory.');
  if (text.length > MAX_SELECTION_CHARACTERS)
    throw badInput(`The selection is longer than ${MAX_SELECTION_CHARACTERS} characters. Shorten it.`);
  const alternatives: SelectionPredicate[][] = [[]];
  for (const [, negation, tag, quoted, plain, separator, unreadable] of text.matchAll(WORD_PATTERN)) {
    if (unreadable !== undefined) throw badInput(safeMessage`The selection ${text} is invalid: a quotation mark or a word is missing.`);
    if (separator !== undefined) alternatives.push([]);
    else
      alternatives
        .at(-1)
        ?.push(
          parseWord({ isNegated: negation !== '', tag: tag !== undefined, pattern: quoted ?? plain ?? '', isQuoted: quoted !== undefined }),
        );
  }
  if (alternatives.some((words) => words.length === 0))
    throw badInput(
      safeMessage`The selection ${text} has nothing on one side of a |, which would select every appliance. Remove the | or add a word.`,
    );
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
  if (pattern === '') throw badInput('The selection has an empty word. Enter a name or tag:name.');
  if (!tag && !isQuoted && /^[a-z]+:/i.test(pattern))
    throw badInput(
      safeMessage`${pattern} is not valid in a selection. Write a tag as tag:name, and a name with a colon in quotation marks.`,
    );
  const matchesText = pattern.includes('*') ? createWildcardMatcher(pattern) : (text: string) => text === pattern;
  const matchesWord: SelectionPredicate = tag ? ({ tags }) => tags.some(matchesText) : ({ name }) => matchesText(name);
  return isNegated ? (appliance) => !matchesWord(appliance) : matchesWord;
}
