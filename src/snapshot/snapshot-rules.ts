import { UnorderedLists } from '../change/unordered-lists';
import { IgnoreRules } from './ignore-rules';

/** What does not count in a snapshot: ignored parts, and the order of some lists. */
export interface SnapshotRules {
  readonly ignore: IgnoreRules;
  readonly unordered: UnorderedLists;
}

export interface SnapshotPatterns {
  readonly ignore?: readonly string[] | undefined;
  readonly unordered?: readonly string[] | undefined;
}

/** Throws `BAD_INPUT` for a pattern that matches everything. `more` are patterns of an earlier snapshot. */
export function createSnapshotRules({ ignore, unordered }: SnapshotPatterns, more: SnapshotPatterns = {}): SnapshotRules {
  return {
    ignore: new IgnoreRules(ignore).extend(more.ignore),
    unordered: new UnorderedLists(unordered).extend(more.unordered),
  };
}

export function compileSnapshotPatterns({ ignore, unordered }: SnapshotRules): SnapshotPatterns {
  return { ignore: ignore.patterns, unordered: unordered.patterns };
}
