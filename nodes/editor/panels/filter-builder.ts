import {
  createFilterCondition,
  FILTER_FIELDS,
  SESSION_AGE_FIELD,
  getLookupKind,
  getFilterOperators,
  isCompleteList,
  parseFilterConditions,
  splitTextList,
  toSessionFilter,
  type FilterCondition,
  type FilterLookupKind,
  type FilterOperator,
} from './filter-conditions';
import type { OpenedPanel, PanelOptions, PanelTarget } from './types';
import { openValuePicker } from './value-picker';
import { createToolButton, formatPlural } from '../text';

/** Pause in typing after which the count starts. */
const COUNT_PAUSE_MS = 400;

/** Shows the filter as rows of field, operator, and value instead of JSON. */
export function openFilterBuilder(options: PanelOptions): OpenedPanel {
  const conditions = parseFilterConditions(parseFilter(options.target.get()?.value));
  if (conditions) return new FilterBuilder(options, conditions.length > 0 ? conditions : [createFilterCondition('active-user-name')]);
  RED.notify(options.node._('filter.only-json'), 'warning');
  return { close: () => undefined, onClosed: () => undefined };
}

class FilterBuilder implements OpenedPanel {
  private readonly line: JQuery;
  private readonly panel = $('<div class="gateway-panel gateway-filter" role="group">');
  private readonly count = $('<span class="gateway-filter-count" role="status" aria-live="polite">');
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** The open list of values. */
  private picker: { list: OpenedPanel; textBox: JQuery } | undefined;
  private closeListener = (): void => undefined;

  constructor(
    private readonly options: PanelOptions,
    private readonly conditions: FilterCondition[],
  ) {
    const { element } = options.target;
    this.line = element.find('.gateway-input');
    this.panel.attr('aria-label', element.find('label').text().trim());
    this.line.hide().after(this.panel);
    this.draw();
    this.panel.find('input').first().trigger('focus');
  }

  close(): void {
    clearTimeout(this.timer);
    this.picker?.list.close();
    this.panel.remove();
    this.line.show();
    RED.tray.resize();
    this.closeListener();
  }

  onClosed(listener: () => void): void {
    this.closeListener = listener;
  }

  private draw(): void {
    const { node } = this.options;
    this.picker?.list.close();
    this.panel.empty();
    for (const condition of this.conditions) this.createRow(condition).appendTo(this.panel);
    const add = $('<button type="button" class="red-ui-button red-ui-button-small">').text(node._('filter.add'));
    add.on('click', () => {
      this.conditions.push(
        createFilterCondition(FILTER_FIELDS.find((field) => this.conditions.every((one) => one.field !== field)) ?? SESSION_AGE_FIELD),
      );
      this.draw();
    });
    const json = $('<button type="button" class="red-ui-button red-ui-button-small">').text(node._('filter.json'));
    json.on('click', () => this.close());
    $('<div class="gateway-filter-end">').append(add, ' ', json, ' ', this.count).appendTo(this.panel);
    RED.tray.resize();
    this.updateCount();
  }

  private store(): void {
    this.options.target.set('json', JSON.stringify(toSessionFilter(this.conditions)));
    this.updateCount();
  }

  private updateCount(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void showCount(this.options, toSessionFilter(this.conditions), this.count), COUNT_PAUSE_MS);
  }

  private createRow(condition: FilterCondition): JQuery {
    const { node } = this.options;
    const row = $('<div class="gateway-condition">');
    const usedFields = this.conditions.map(({ field }) => field).filter((name) => name !== condition.field);
    const fields = FILTER_FIELDS.filter((name) => !usedFields.includes(name));
    const field = createSelect(fields, condition.field, node._('filter.field'), (name) => node._(`filter.name.${name}`));
    // The key of the record, as in the JSON.
    field.attr('title', condition.field).on('change', () => {
      condition.field = String(field.val());
      const operators = getFilterOperators(condition.field);
      if (!operators.includes(condition.operator)) condition.operator = operators[0] ?? 'is';
      this.store();
      this.draw();
    });
    const operator = createSelect(getFilterOperators(condition.field), condition.operator, node._('filter.operator'), (name) =>
      node._(`filter.is.${name}`),
    );
    operator.on('change', () => {
      condition.operator = String(operator.val()) as FilterOperator;
      this.store();
      this.draw();
    });
    const value = $('<input type="text">').attr({
      'aria-label': node._('filter.value'),
      placeholder: hasHint(condition) ? node._(`filter.hint.${condition.operator}`) : '',
    });
    value.val(condition.value).on('input', () => {
      condition.value = String(value.val());
      this.store();
    });
    const line = $('<span class="gateway-condition-value">').append(value);
    const kind = getLookupKind(condition.field);
    if (kind !== undefined) {
      const pick = createToolButton('fa-search', node._('tool.pick'), () => this.togglePicker(condition, kind, row, value));
      pick.on('mousedown', (event) => event.preventDefault()).appendTo(line);
    }
    const remove = createToolButton('fa-times', node._('filter.remove'), () => {
      this.conditions.splice(this.conditions.indexOf(condition), 1);
      this.store();
      this.draw();
    });
    return row.append(field, operator, line, remove);
  }

  /** Opens the list that a field of the dialog with such a value has. */
  private togglePicker(condition: FilterCondition, kind: FilterLookupKind, row: JQuery, textBox: JQuery): void {
    const previous = this.picker;
    previous?.list.close();
    if (previous?.textBox === textBox) return;
    const { options } = this;
    const list = openValuePicker({
      ...options,
      target: createConditionTarget(condition, row, textBox, options.node._(`filter.name.${condition.field}`)),
      field: { ...options.field, names: kind },
      getLiteralTexts: () => ({ field: condition.field }),
      // Who has no session now may have one later.
      post: (route, body) => options.post(route, isCompleteList(condition) ? body : { ...body, values: [] }),
    });
    this.picker = { list, textBox };
    list.onClosed(() => (this.picker = undefined));
  }
}

/** The input of a condition, as the value picker uses it. A list of values ends with the one that the user types. */
function createConditionTarget(condition: FilterCondition, element: JQuery, textBox: JQuery, title: string): PanelTarget {
  const isList = condition.operator === 'any';
  const initialValue = condition.value;
  const isTyping = (): boolean => condition.value !== initialValue && !/,\s*$/.test(condition.value);
  return {
    name: condition.field,
    title,
    element,
    textBox,
    get: () => {
      if (!isList) return { type: 'str', value: condition.value };
      const values = splitTextList(condition.value);
      return { type: 'json', value: JSON.stringify(isTyping() ? values.slice(0, -1) : values) };
    },
    set: (type, value) => {
      const text = type === 'json' ? (JSON.parse(value) as string[]).join(', ') : value;
      textBox.val(text).trigger('input');
    },
    getSearch: () => {
      if (isList) return isTyping() ? (splitTextList(condition.value).at(-1) ?? '') : '';
      return condition.value === initialValue ? '' : condition.value;
    },
  };
}

/** Whether the input of a condition shows examples: user names, an age or a network. */
function hasHint({ field, operator }: FilterCondition): boolean {
  return field === 'active-user-name' || operator === 'network' || operator === 'older';
}

function createSelect(names: readonly string[], selected: string, label: string, toText: (name: string) => string): JQuery {
  const select = $('<select>').attr('aria-label', label);
  for (const name of names) select.append($('<option>').val(name).text(toText(name)));
  return select.val(selected);
}

/** Shows how many sessions match at the moment. An incomplete filter is not counted. */
async function showCount({ node, post }: PanelOptions, filter: Record<string, unknown>, place: JQuery): Promise<void> {
  const asked = JSON.stringify(filter);
  place.data('asked', asked);
  if (Object.keys(filter).length === 0) return void place.empty();
  place.text(node._('filter.counting'));
  const answer = await post('count', { filter });
  if (place.data('asked') !== asked) return;
  place.text(answer.ok ? formatPlural(node, 'filter.matches', Number(answer['matching'])) : answer.message);
}

function parseFilter(json: string | undefined): unknown {
  try {
    return json === undefined || json === '' ? {} : (JSON.parse(json) as unknown);
  } catch {
    return undefined;
  }
}
