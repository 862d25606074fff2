import { expect, it } from 'vitest';
import { toResultTable } from '../../nodes/editor/panels/result-table';

it('a result table shows those fields as columns that hold plain values most often, in the order of the data', () => {
  const rows = [
    { a: 1, nested: { x: 1 }, b: '', c: 'x', d: true, e: 1, f: 2, g: 3 },
    { a: 2, c: null, h: 4 },
  ];
  expect(toResultTable(rows)).toEqual({
    columns: ['a', 'c', 'd', 'e', 'f'],
    rows: [
      ['1', 'x', 'true', '1', '2'],
      ['2', '–', '–', '–', '–'],
    ],
  });
});

it('a result table shows an object as rows of name and value, and any other value in one column', () => {
  expect(toResultTable({ a: 1, b: { c: [2] } })).toEqual({
    columns: [],
    rows: [
      ['a', '1'],
      ['b', '{"c":[2]}'],
    ],
  });
  expect(toResultTable(['x', 2])).toEqual({ columns: [], rows: [['x'], ['2']] });
  expect(toResultTable('y').rows).toEqual([['y']]);
  expect(toResultTable(['z'.repeat(200)]).rows[0]?.[0]).toHaveLength(121);
});
