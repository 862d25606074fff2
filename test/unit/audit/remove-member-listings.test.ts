import { expect, it } from 'vitest';
import { removeMemberListings } from '../../../src/audit/remove-member-listings';

const ROLE = '/api/v1/configuration/users/user-role';

it('removeMemberListings removes the objects that their collection repeats, and keeps everything else', () => {
  const collection = {
    'user-role': [{ name: 'A b', type: 'x' }, { id: 7 }, { name: 'Other' }, 'A b', { name: '\ud800' }],
    total: 2,
    list: ['A b'],
  };
  const resources = new Map<string, object>([
    [ROLE, collection],
    [`${ROLE}/A%20b`, { name: 'A b', list: [{ name: 'C' }] }],
    [`${ROLE}/7`, { id: 7 }],
  ]) as Parameters<typeof removeMemberListings>[0];
  const stripped = removeMemberListings(resources);
  expect(stripped.get(ROLE)).toEqual({ ...collection, 'user-role': [{ name: 'Other' }, 'A b', { name: '\ud800' }] });
  expect([...stripped.keys()]).toEqual([...resources.keys()]);
  expect(stripped.get(`${ROLE}/A%20b`)).toBe(resources.get(`${ROLE}/A%20b`));
});

it('removeMemberListings returns the same resources if no collection repeats its objects', () => {
  const resources = new Map([[`${ROLE}/A`, { name: 'A', rule: [{ name: 'A' }] }]]);
  expect(removeMemberListings(resources)).toBe(resources);
});
