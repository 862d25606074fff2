import { listField } from '../model/operation';

/** Lists whose order does not count, in comparisons of the configuration. */
export const unorderedListsField = listField(
  'Unordered',
  'Names of lists whose order does not count, or pointers such as `/users/user-roles/*/roles`. `*` stands for any characters of one name.',
  { guard: true, example: ['roles'] },
);
