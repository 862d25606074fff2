import { expect, it } from 'vitest';
import { createSelectionSuggestions } from '../../nodes/editor/dialogs/selection-suggestions';

const LIST = {
  tags: [
    { value: 'eu', count: 12 },
    { value: 'lab', count: 1 },
  ],
  entries: [{ value: 'vpn-1' }, { value: 'vpn of Berlin' }],
};

it('the field Select suggests tags with their counts, and puts names with spaces in quotation marks', () => {
  expect(createSelectionSuggestions('', LIST).map(({ label }) => label)).toEqual([
    'tag:eu (12)',
    'tag:lab (1)',
    'vpn-1',
    '"vpn of Berlin"',
  ]);
  expect(createSelectionSuggestions('tag:l', LIST)).toEqual([{ value: 'tag:lab', label: 'tag:lab (1)' }]);
});
