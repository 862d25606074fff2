import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  FILTER_FIELDS,
  getLookupKind,
  isCompleteList,
  parseFilterConditions,
  splitTextList,
  toSessionFilter,
} from '../../nodes/editor/panels/filter-conditions';
import { root } from '../../scripts/tools.mjs';
import { objectLookups } from '../../src/areas/object-lookup';

it('the filter builder names every field of a filter and lists its values, except for an age', () => {
  const catalog = JSON.parse(readFileSync(join(root, 'nodes/locales/en-US.json'), 'utf8')) as { filter: { name: Record<string, string> } };
  const names = catalog.filter.name;
  expect(FILTER_FIELDS.filter((field) => !/^[A-Z]/.test(names[field] ?? ''))).toEqual([]);
  expect(new Set(Object.values(names)).size).toBe(FILTER_FIELDS.length);
  expect(FILTER_FIELDS.filter((field) => !Object.hasOwn(objectLookups, getLookupKind(field) ?? ''))).toEqual(['older-than']);
});

it('the filter builder reports a value as missing only if its list has every possible value', () => {
  const isComplete = (field: string, operator: 'is' | 'begins') => isCompleteList({ field, operator, value: 'x' });
  expect([isComplete('authentication-realm', 'is'), isComplete('authentication-realm', 'begins')]).toEqual([true, false]);
  expect([isComplete('active-user-name', 'is'), isComplete('agent-type', 'is')]).toEqual([false, false]);
});

it.each([
  [{ 'active-user-name': 'j.*' }, 'begins', 'j.'],
  [{ 'active-user-name': '*.doe' }, 'like', '*.doe'],
  [{ 'source-ip': '203.0.113.0/24' }, 'network', '203.0.113.0/24'],
  [{ 'user-roles': ['Users', 'Guests'] }, 'any', 'Users, Guests'],
  [{ 'older-than': '8 h' }, 'older', '8 h'],
])('the filter builder shows %j as a condition, and converts the condition back to the same filter', (filter, operator, value) => {
  const conditions = parseFilterConditions(filter);
  expect(conditions).toEqual([{ field: Object.keys(filter)[0], operator, value }]);
  expect(toSessionFilter(conditions ?? [])).toEqual(filter);
});

it('the filter builder leaves a filter that it cannot show to the JSON editor', () => {
  for (const filter of [[], { nope: 'x' }, { 'source-ip': ['a/b'] }, { 'source-ip': true }])
    expect(parseFilterConditions(filter)).toBeUndefined();
  expect(splitTextList(' a,, b ')).toEqual(['a', 'b']);
});
