import { SESSION_FILTER_FIELDS } from '../../../src/areas/sessions/session-filter';
import type { OpenPanel, PanelOptions } from './types';
import { createToolButton, pluralized } from '../text';

type Operator = 'is' | 'begins' | 'like' | 'any' | 'network' | 'older';

/** The count starts after this pause in typing. */
const COUNT_PAUSE_MS = 400;

interface Condition {
  field: string;
  operator: Operator;
  value: string;
}

const AGE = 'older-than';
const ADDRESSES = ['source-ip', 'network-connect-ip', 'network-connect-ipv6'];
/** The lookup kind of a field's values. */
const LOOKUP_KINDS: Readonly<Record<string, string>> = {
  'active-user-name': 'session-user',
  'authentication-realm': 'user-realm',
  'primary-auth-server-name': 'auth-server',
  'user-roles': 'user-role',
};

function getOperators(field: string): readonly Operator[] {
  if (field === AGE) return ['older'];
  return ADDRESSES.includes(field) ? ['is', 'any', 'network', 'like'] : ['is', 'begins', 'any', 'like'];
}

/** Returns the conditions of a filter object, or undefined if the builder cannot show them. */
function parseConditions(filter: unknown): Condition[] | undefined {
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) return undefined;
  const conditions = Object.entries(filter).map(([field, value]) => parseCondition(field, value));
  return conditions.every((one) => one !== undefined) ? conditions : undefined;
}

function parseCondition(field: string, rawValue: unknown): Condition | undefined {
  if (!SESSION_FILTER_FIELDS.includes(field)) return undefined;
  if (Array.isArray(rawValue)) {
    const texts = (rawValue as unknown[]).filter((one) => typeof one === 'string' && !/[,*/]/.test(one));
    return texts.length === rawValue.length ? { field, operator: 'any', value: texts.join(', ') } : undefined;
  }
  if (typeof rawValue !== 'string' && typeof rawValue !== 'number') return undefined;
  const value = String(rawValue);
  if (field === AGE) return { field, operator: 'older', value };
  if (ADDRESSES.includes(field) && value.includes('/')) return { field, operator: 'network', value };
  if (!value.includes('*')) return { field, operator: 'is', value };
  if (!ADDRESSES.includes(field) && /^[^*]+\*$/.test(value)) return { field, operator: 'begins', value: value.slice(0, -1) };
  return { field, operator: 'like', value };
}

/** Returns the filter object of all complete conditions. */
function toFilter(conditions: readonly Condition[]): Record<string, unknown> {
  return Object.fromEntries(
    conditions
      .filter(({ value }) => value.trim() !== '')
      .map(({ field, operator, value }): [string, string | string[]] => {
        if (operator === 'any') return [field, value.split(',').flatMap((one) => (one.trim() === '' ? [] : [one.trim()]))];
        return [field, operator === 'begins' ? `${value.trim()}*` : value.trim()];
      }),
  );
}

/** Shows the filter as rows of field, operator, and value instead of JSON. */
export function openFilterBuilder(options: PanelOptions): OpenPanel {
  const { node, target } = options;
  const parsedConditions = parseConditions(parseFilter(target.get()?.value));
  const line = target.element.find('.gateway-input');
  let closeListener = (): void => undefined;
  const builder = $('<div class="gateway-panel gateway-filter" role="group">').attr(
    'aria-label',
    target.element.find('label').text().trim(),
  );
  const panel: OpenPanel = {
    close: () => {
      clearTimeout(timer);
      builder.remove();
      line.show();
      RED.tray.resize();
      closeListener();
    },
    onClosed: (listener) => (closeListener = listener),
  };
  if (!parsedConditions) {
    RED.notify(node._('filter.only-json'), 'warning');
    return panel;
  }
  const conditions = parsedConditions.length > 0 ? parsedConditions : [{ field: 'active-user-name', operator: 'is' as const, value: '' }];
  const count = $('<span class="gateway-filter-count" role="status" aria-live="polite">');
  let timer: ReturnType<typeof setTimeout> | undefined;
  const updateCount = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void showCount(options, toFilter(conditions), count), COUNT_PAUSE_MS);
  };
  const store = (): void => {
    target.set('json', JSON.stringify(toFilter(conditions)));
    updateCount();
  };
  const draw = (): void => {
    builder.empty();
    conditions.forEach((_one, index) => createConditionRow(options, conditions, index, store, draw).appendTo(builder));
    const add = $('<button type="button" class="red-ui-button red-ui-button-small">').text(node._('filter.add'));
    add.on('click', () => {
      const unusedField = FIELDS.find((field) => conditions.every((one) => one.field !== field)) ?? AGE;
      conditions.push({ field: unusedField, operator: getOperators(unusedField)[0] ?? 'is', value: '' });
      draw();
    });
    const json = $('<button type="button" class="red-ui-button red-ui-button-small">').text(node._('filter.json'));
    json.on('click', () => panel.close());
    $('<div class="gateway-filter-end">').append(add, ' ', json, ' ', count).appendTo(builder);
    RED.tray.resize();
    updateCount();
  };
  line.hide().after(builder);
  draw();
  builder.find('input').first().trigger('focus');
  return panel;
}

function createConditionRow(options: PanelOptions, conditions: Condition[], index: number, store: () => void, draw: () => void): JQuery {
  const { node } = options;
  const condition = conditions[index] as Condition;
  const field = $('<select>').attr('aria-label', node._('filter.field'));
  const usedFields = conditions.map((one) => one.field).filter((name) => name !== condition.field);
  for (const name of FIELDS.filter((one) => !usedFields.includes(one)))
    field.append($('<option>').val(name).text(getFieldLabel(node, name)));
  const operator = $('<select>').attr('aria-label', node._('filter.operator'));
  for (const name of getOperators(condition.field))
    operator.append(
      $('<option>')
        .val(name)
        .text(node._(`filter.is.${name}`)),
    );
  const value = $('<input type="text">').attr({
    'aria-label': node._('filter.value'),
    placeholder: node._(`filter.hint.${condition.operator}`),
  });
  field.val(condition.field).on('change', () => {
    condition.field = String(field.val());
    if (!getOperators(condition.field).includes(condition.operator)) condition.operator = getOperators(condition.field)[0] ?? 'is';
    store();
    draw();
  });
  operator.val(condition.operator).on('change', () => {
    condition.operator = String(operator.val()) as Operator;
    store();
    draw();
  });
  value
    .val(condition.value)
    .on('input', () => {
      condition.value = String(value.val());
      store();
    })
    .one('focus', () => void addSuggestions(options, condition.field, value));
  const remove = createToolButton('fa-times', node._('filter.remove'), () => {
    conditions.splice(index, 1);
    store();
    draw();
  });
  return $('<div class="gateway-condition">').append(field, operator, value, remove);
}

/** Shows how many sessions match now. An incomplete filter matches nothing that could be counted. */
async function showCount({ node, post }: PanelOptions, filter: Record<string, unknown>, place: JQuery): Promise<void> {
  if (Object.keys(filter).length === 0) return void place.empty();
  place.text(node._('filter.counting'));
  const asked = JSON.stringify(filter);
  place.data('asked', asked);
  const answer = await post('count', { filter });
  if (place.data('asked') !== asked) return;
  place.text(answer.ok ? pluralized(node, 'filter.matches', Number(answer['matching'])) : answer.message);
}

/** Adds a datalist with the values on the appliance. Without a response, the input stays plain. */
async function addSuggestions(options: PanelOptions, field: string, input: JQuery): Promise<void> {
  const kind = LOOKUP_KINDS[field];
  if (kind === undefined) return;
  const answer = await options.post('list', { kind, given: {}, search: '' });
  if (!answer.ok) return;
  const id = `gateway-offer-${field}`;
  const list = $('<datalist>').attr('id', id);
  for (const { value } of answer.entries as { value: string }[]) list.append($('<option>').val(value));
  input.after(list).attr('list', id);
}

/** Common fields come first, with a readable name. */
const COMMON_FIELDS = [
  ...['active-user-name', 'authentication-realm', 'source-ip', 'user-roles'],
  ...['older-than', 'agent-type', 'login-node', 'device-id'],
];
const FIELDS = [...COMMON_FIELDS, ...SESSION_FILTER_FIELDS.filter((name) => !COMMON_FIELDS.includes(name))];

function getFieldLabel(node: RedNode, name: string): string {
  return COMMON_FIELDS.includes(name) ? node._(`filter.name.${name}`) : name;
}

function parseFilter(json: string | undefined): unknown {
  try {
    return json === undefined || json === '' ? {} : (JSON.parse(json) as unknown);
  } catch {
    return undefined;
  }
}
