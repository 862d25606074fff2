import { listResourceFields, parseFieldText, toChangeBody, toFieldText, type ResourceField } from './resource-fields';

/** A resource as a form with a second tab for its JSON. It collects the fields that the user wants to change. */
export class ResourceForm {
  private readonly changes = new Map<string, readonly [names: readonly string[], value: unknown]>();
  private formCount = 0;

  /** `canChange` is false for an operation that only reads or removes. */
  constructor(
    private readonly node: RedNode,
    private readonly place: JQuery,
    private readonly canChange: boolean,
  ) {}

  /** Returns the changed fields as a body, or undefined if there is no change. */
  get body(): Record<string, unknown> | undefined {
    return this.changes.size > 0 ? toChangeBody(this.changes.values()) : undefined;
  }

  show(path: string, resource: unknown): void {
    const { node } = this;
    this.changes.clear();
    const fields = listResourceFields(resource);
    const json = $('<pre tabindex="0">')
      .attr('data-path', path)
      .text(JSON.stringify(resource, null, 2));
    const form = $('<div class="gateway-resource-form">').append(
      fields.length > 0 ? this.createRows(fields) : $('<div class="gateway-note">').text(node._('tree.no-fields')),
    );
    const tabs = $('<div class="gateway-tabs" role="tablist">');
    const panes = { form, json };
    const select = (name: 'form' | 'json'): void => {
      tabs.children().each((_, tab) => {
        const isSelected = tab.dataset.tab === name;
        tab.setAttribute('aria-selected', String(isSelected));
        tab.tabIndex = isSelected ? 0 : -1;
      });
      form.toggle(name === 'form');
      json.toggle(name === 'json');
    };
    for (const name of ['form', 'json'] as const) {
      const tab = $('<button type="button" role="tab" class="red-ui-button red-ui-button-small">').attr('data-tab', name);
      tab.text(name === 'form' ? node._('tree.form') : 'JSON').on('click', () => select(name));
      tab.on('keydown', ({ key }) => {
        if (key !== 'ArrowRight' && key !== 'ArrowLeft') return;
        select(name === 'form' ? 'json' : 'form');
        tabs.find('[aria-selected="true"]').trigger('focus');
      });
      panes[name].attr({ role: 'tabpanel', 'aria-label': tab.text() });
      tabs.append(tab);
    }
    this.place.empty().append(tabs, form, json);
    select('form');
  }

  private createRows(fields: readonly ResourceField[]): JQuery[] {
    return fields.map((field) => {
      if (field.kind !== 'object' || field.fields.length === 0) return this.createRow(field);
      const fold = $('<details class="gateway-fold gateway-nested">').append($('<summary>').text(field.names.at(-1) ?? ''));
      return fold.append(this.createRows(field.fields));
    });
  }

  private createRow(field: ResourceField): JQuery {
    const { node } = this;
    const name = field.names.join('.');
    const id = `gateway-resource-${(this.formCount += 1)}`;
    const label = $('<label>')
      .attr('for', id)
      .append($('<span>').text(field.names.at(-1) ?? ''), ' ', $('<small>').text(node._(`tree.kind.${field.kind}`)));
    const input = createInput(field).attr('id', id);
    const error = $('<div class="gateway-error">').attr('id', `${id}-error`);
    input.attr('aria-describedby', `${id}-error`);
    const row = $('<div class="gateway-resource-field">').attr('data-name', name);
    if (!this.canChange) return row.append(label, input.prop('disabled', true));
    const box = $('<input type="checkbox">');
    const update = (): void => {
      const isChanged = box.prop('checked') === true;
      const value = isChanged ? parseFieldText(field, String(input.val() ?? '')) : undefined;
      if (value === undefined) this.changes.delete(name);
      else this.changes.set(name, [field.names, value]);
      error.text(isChanged && value === undefined ? node._('tree.wrong-kind', { kind: node._(`tree.kind.${field.kind}`) }) : '');
      row.toggleClass('gateway-changed', isChanged);
    };
    box.on('change', () => {
      const isChanged = box.prop('checked') === true;
      input.prop('disabled', !isChanged);
      if (isChanged) input.trigger('focus').trigger('select');
      else input.val(toFieldText(field));
      update();
    });
    input.prop('disabled', true).on('input change', update);
    const change = $('<label class="gateway-change">').append(box, ' ', $('<span>').text(node._('tree.change')));
    box.attr('aria-label', `${name}: ${node._('tree.change')}`);
    return row.append(label, change, input, error);
  }
}

function createInput(field: ResourceField): JQuery {
  const text = toFieldText(field);
  if (field.kind !== 'boolean') return $('<input type="text">').val(text);
  const select = $('<select>');
  const [yes, no] = /^[TF]/.test(text) ? ['True', 'False'] : ['true', 'false'];
  for (const value of [yes, no]) select.append($('<option>').val(value).text(value));
  return select.val(text);
}
