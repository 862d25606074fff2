import { FieldTools, type FieldToolTarget } from '../fields/field-tools';

/** The filter as a field with the builder of *End matching sessions*. */
export function addFilterBuilder(node: RedNode): FieldTools {
  const input = $('#node-input-filter');
  const tools = new FieldTools(
    node,
    () => ({}),
    () => undefined,
  );
  const target: FieldToolTarget = {
    name: 'filter',
    element: input.closest('.gateway-row'),
    textBox: input,
    currentField: { kind: 'object', text: 'filter', editor: 'session-filter' },
    startLiteral: () => undefined,
    get: () => ({ type: 'json', value: String(input.val()) }),
    // An empty filter matches no session. Without a filter all sessions match.
    set: (_type, value) => void input.val(value === '{}' ? '' : value).trigger('change'),
  };
  input.wrap('<div class="gateway-input">').after(tools.button('filter', target));
  return tools;
}
