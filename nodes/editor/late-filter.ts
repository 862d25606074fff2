import { SESSION_FIELDS } from '../../src/areas/sessions/filter';
import type { Opened, Opening } from './late';
import { toolButton } from './row';

type Operator = 'is' | 'begins' | 'like' | 'any' | 'network' | 'older';

interface Condition {
  field: string;
  operator: Operator;
  value: string;
}

const AGE = 'older-than';
const ADDRESSES = ['source-ip', 'network-connect-ip', 'network-connect-ipv6'];
/** What there is to choose from for a field, as the appliance lists it. */
const LISTED: Readonly<Record<string, string>> = {
  'active-user-name': 'session-user',
  'authentication-realm': 'user-realm',
  'primary-auth-server-name': 'auth-server',
  'user-roles': 'user-role',
};

/** The operators that make sense for a field. */
function operatorsOf(field: string): readonly Operator[] {
  if (field === AGE) return ['older'];
  return ADDRESSES.includes(field) ? ['is', 'any', 'network', 'like'] : ['is', 'begins', 'any', 'like'];
}

/** Conditions of a filter object; undefined for what the builder cannot show. */
export function conditionsOf(filter: unknown): Condition[] | undefined {
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) return undefined;
  const conditions = Object.entries(filter).map(([field, wanted]) => conditionOf(field, wanted));
  return conditions.every((one) => one !== undefined) ? conditions : undefined;
}

function conditionOf(field: string, wanted: unknown): Condition | undefined {
  if (!SESSION_FIELDS.includes(field)) return undefined;
  if (Array.isArray(wanted)) {
    const texts = (wanted as unknown[]).filter((one) => typeof one === 'string' && !/[,*/]/.test(one));
    return texts.length === wanted.length ? { field, operator: 'any', value: texts.join(', ') } : undefined;
  }
  if (typeof wanted !== 'string' && typeof wanted !== 'number') return undefined;
  const value = String(wanted);
  if (field === AGE) return { field, operator: 'older', value };
  if (ADDRESSES.includes(field) && value.includes('/')) return { field, operator: 'network', value };
  if (!value.includes('*')) return { field, operator: 'is', value };
  if (!ADDRESSES.includes(field) && /^[^*]+\*$/.test(value)) return { field, operator: 'begins', value: value.slice(0, -1) };
  return { field, operator: 'like', value };
}

/** The filter object of the conditions that are complete. */
export function filterOf(conditions: readonly Condition[]): Record<string, unknown> {
  return Object.fromEntries(
    conditions
      .filter(({ value }) => value.trim() !== '')
      .map(({ field, operator, value }): [string, string | string[]] => {
        if (operator === 'any') return [field, value.split(',').flatMap((one) => (one.trim() === '' ? [] : [one.trim()]))];
        return [field, operator === 'begins' ? `${value.trim()}*` : value.trim()];
      }),
  );
}

/** Field, operator and value in rows, in place of JSON; the JSON is one click away. */
export function openFilter(opening: Opening): Opened {
  const { node, row } = opening;
  const found = conditionsOf(parsed(row.get()?.value));
  const line = row.element.find('.gateway-input');
  let listener = (): void => undefined;
  const builder = $('<div class="gateway-late gateway-filter" role="group">').attr('aria-label', row.element.find('label').text().trim());
  const opened: Opened = {
    close: () => {
      builder.remove();
      line.show();
      RED.tray.resize();
      listener();
    },
    closed: (then) => (listener = then),
  };
  if (!found) {
    RED.notify(node._('filter.only-json'), 'warning');
    return opened;
  }
  const conditions = found.length > 0 ? found : [{ field: 'active-user-name', operator: 'is' as const, value: '' }];
  const store = (): void => row.set('json', JSON.stringify(filterOf(conditions)));
  const draw = (): void => {
    builder.empty();
    conditions.forEach((_one, index) => conditionRow(opening, conditions, index, store, draw).appendTo(builder));
    const add = $('<button type="button" class="red-ui-button red-ui-button-small">').text(node._('filter.add'));
    add.on('click', () => {
      const free = FIELDS.find((field) => conditions.every((one) => one.field !== field)) ?? AGE;
      conditions.push({ field: free, operator: operatorsOf(free)[0] ?? 'is', value: '' });
      draw();
    });
    const json = $('<button type="button" class="red-ui-button red-ui-button-small">').text(node._('filter.json'));
    json.on('click', () => opened.close());
    $('<div class="gateway-filter-end">').append(add, ' ', json).appendTo(builder);
    RED.tray.resize();
  };
  line.hide().after(builder);
  draw();
  builder.find('input').first().trigger('focus');
  return opened;
}

function conditionRow(opening: Opening, conditions: Condition[], index: number, store: () => void, draw: () => void): JQuery {
  const { node } = opening;
  const condition = conditions[index] as Condition;
  const field = $('<select>').attr('aria-label', node._('filter.field'));
  const taken = conditions.map((one) => one.field).filter((name) => name !== condition.field);
  for (const name of FIELDS.filter((one) => !taken.includes(one))) field.append($('<option>').val(name).text(fieldName(node, name)));
  const operator = $('<select>').attr('aria-label', node._('filter.operator'));
  for (const name of operatorsOf(condition.field))
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
    if (!operatorsOf(condition.field).includes(condition.operator)) condition.operator = operatorsOf(condition.field)[0] ?? 'is';
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
    .one('focus', () => void offer(opening, condition.field, value));
  const remove = toolButton('fa-times', node._('filter.remove'), () => {
    conditions.splice(index, 1);
    store();
    draw();
  });
  return $('<div class="gateway-condition">').append(field, operator, value, remove);
}

/** The browser's own list of what the appliance has; without an answer the field is just text. */
async function offer(opening: Opening, field: string, input: JQuery): Promise<void> {
  const kind = LISTED[field];
  if (kind === undefined) return;
  const answer = await opening.ask('list', { kind, given: {}, search: '' });
  if (!answer.ok) return;
  const id = `gateway-offer-${field}`;
  const list = $('<datalist>').attr('id', id);
  for (const { value } of answer.entries as { value: string }[]) list.append($('<option>').val(value));
  input.after(list).attr('list', id);
}

/** What filters are mostly about comes first, under a name for people. */
const COMMON = [
  ...['active-user-name', 'authentication-realm', 'source-ip', 'user-roles'],
  ...['older-than', 'agent-type', 'login-node', 'device-id'],
];
const FIELDS = [...COMMON, ...SESSION_FIELDS.filter((name) => !COMMON.includes(name))];

function fieldName(node: RedNode, name: string): string {
  return COMMON.includes(name) ? node._(`filter.name.${name}`) : name;
}

function parsed(json: string | undefined): unknown {
  try {
    return json === undefined || json === '' ? {} : (JSON.parse(json) as unknown);
  } catch {
    return undefined;
  }
}
