import { describe, expect, it } from 'vitest';
import { createNameMatcher, findSimilarNames, NAME_MATCH_MODES } from '../../../src/model/user-names';

describe('comparison of user names', () => {
  it.each<[string, string, string[]]>([
    ['j.doe', 'j.doe', ['exact', 'ignore-case', 'ignore-domain']],
    [' j.doe\t', 'j.doe ', ['exact', 'ignore-case', 'ignore-domain']],
    ['j.doe', 'J.Doe', ['ignore-case', 'ignore-domain']],
    ['j.doe', 'CORP\\j.doe', ['ignore-domain']],
    ['CORP\\J.DOE', 'j.doe@corp.example', ['ignore-domain']],
    ['j.doe@a.example', 'j.doe@b.example', ['ignore-domain']],
    ['j.doe', 'j.doe2', []],
    ['CORP\\', 'CORP\\', ['exact', 'ignore-case', 'ignore-domain']],
    ['CORP\\', 'OTHER\\', []],
    ['@corp', '@other', []],
    ['', 'x', []],
  ])('createNameMatcher takes %j and %j for one person with %j', (name, other, expected) => {
    expect(NAME_MATCH_MODES.filter((match) => createNameMatcher(name, match)(other))).toEqual(expected);
    expect(NAME_MATCH_MODES.filter((match) => createNameMatcher(other, match)(name))).toEqual(expected);
    expect(NAME_MATCH_MODES.filter((match) => createNameMatcher(name, match)(undefined))).toEqual([]);
  });

  it('findSimilarNames lists at most 20 similar names, sorted, each once and without the given name', () => {
    expect(findSimilarNames('j.doe', ['J.Doe', 'j.doe', 'CORP\\j.doe', 'J.Doe', 'x', null])).toEqual(['CORP\\j.doe', 'J.Doe']);
    expect(
      findSimilarNames(
        'j.doe',
        Array.from({ length: 50 }, (_, index) => `j.doe@${index}`),
      ),
    ).toHaveLength(20);
  });
});
