import { getToolNames, type FieldTools, type FieldToolTarget } from './field-tools';
import { checkField } from './field-validator';
import { createFieldRowElements, labelRowButtons, labelFieldRow, type RowElements } from './row-elements';
import { DEFAULT_VALUE_TYPE, getValueTypes, type ValueSource } from './value-types';
import { getAreaName, type FieldInfo } from '../operation-table';
import { renderMarkup, showError } from '../text';

/** One row of the dialog: a typed input whose first type shows the default source of the field. */
export class FieldRow implements FieldToolTarget {
  private readonly elements: RowElements;
  private readonly input: JQuery;
  /** The Node-RED input for the credential of a secret field. */
  private readonly credentialInput: JQuery;
  /** The typed value. It is kept while the row is hidden or shows another type. */
  private valueSource: ValueSource | undefined;
  private field: FieldInfo | undefined;
  private defaultText = '';
  /** True while the row itself changes its input, not the user. */
  private isUpdating = false;
  /** True after a click turned the row into a literal, until the user enters a value. */
  private isLiteralStarted = false;
  private type = DEFAULT_VALUE_TYPE;
  private secret: string;
  private plainValue = '';

  constructor(
    private readonly node: RedNode,
    readonly name: string,
    entry: ValueSource | undefined,
    private readonly onChange: () => void,
    private readonly tools: FieldTools,
  ) {
    this.elements = createFieldRowElements(node, name, () => this.reset());
    this.input = this.elements.input;
    this.credentialInput = $(`#node-input-${name}.gateway-hidden`);
    this.secret = String(this.credentialInput.val() ?? '');
    this.valueSource = entry?.type === 'cred' ? { type: 'cred', value: this.secret } : entry;
    this.input.typedInput({ types: [this.createDefaultType()] });
    this.input.on('typedinputtypechange', () => this.keepSecretApart());
    this.input.on('change keyup paste', () => this.readInput());
    // Node-RED reports a paste only on blur, when the row would change under the pointer.
    this.elements.container.on('input', '.red-ui-typedInput-input', () => this.readInput());
    this.elements.checkbox.on('change', () => this.set('bool', String(this.elements.checkbox.prop('checked') === true)));
    this.elements.container.on('mouseenter focusin', () => tools.preload(this));
    this.elements.container.on('focusout', (event) => this.handleFocusOut(event.relatedTarget as Element | null));
    this.elements.container.on('mousedown keydown', '.gateway-default', (event) => this.handleDefaultEvent(event));
  }

  hide(): void {
    this.field = undefined;
    this.elements.container.hide();
  }

  /** Shows the row at the end of `parent`, with the value if the field accepts it. */
  show(field: FieldInfo, parent: JQuery): void {
    this.field = field;
    this.elements.container.appendTo(parent).show();
    labelFieldRow(this.elements, field, this.label(field), this.node._('action.required'));
    renderMarkup(this.elements.note, this.node._(`${getAreaName(this.node)}.${field.text}.help`));
    const entry = this.valueSource && getValueTypes(field).includes(this.valueSource.type) ? this.valueSource : undefined;
    this.withoutEvents(() => {
      this.input.typedInput('types', [this.createDefaultType(), ...getValueTypes(field).map((type) => this.toTypedInputType(type, field))]);
      this.input.typedInput('type', entry?.type ?? DEFAULT_VALUE_TYPE);
      this.type = entry?.type ?? DEFAULT_VALUE_TYPE;
      if (entry) this.input.typedInput('value', entry.value);
    });
    this.elements.tools.empty().append(getToolNames(field).map((tool) => this.tools.button(tool, this)));
    this.refresh();
  }

  /** Sets the text of the default source, which changes when other rows change. */
  setDefault(text: string): void {
    this.defaultText = text;
    this.elements.container.find('.gateway-default').text(text).attr('title', text);
    if (this.field) labelRowButtons(this.elements.container, this.label(this.field));
  }

  /** Returns the entry to store in `fields`; undefined for the default. A secret is never part of it. */
  get(): ValueSource | undefined {
    if (!this.field || this.type === DEFAULT_VALUE_TYPE || !this.valueSource) return undefined;
    return this.type === 'cred' ? { type: 'cred', value: '' } : { ...this.valueSource };
  }

  /** Sets the value as if the user had typed it. */
  set(type: string, value: string): void {
    this.isLiteralStarted = false;
    this.input.typedInput('type', type);
    this.input.typedInput('value', value);
  }

  get currentField(): FieldInfo | undefined {
    return this.field;
  }

  /** The element to which tools add their panels. */
  get element(): JQuery {
    return this.elements.container;
  }

  /** The text input of a literal value. */
  get textBox(): JQuery {
    return this.elements.container.find('.red-ui-typedInput-input');
  }

  /** Passes the secret to the credentials of Node-RED, or removes it if the row has no secret. */
  storeSecret(): void {
    const secret = this.get()?.type === 'cred' ? this.secret : '';
    // Node-RED keeps a credential that has no input. An empty input would count as a change.
    if (secret === '' && this.credentialInput.val() === '') this.credentialInput.remove();
    else this.credentialInput.val(secret);
  }

  /** Turns the row into a literal value and focuses it. A choice opens its menu. */
  startLiteral(): void {
    const [literal] = this.field ? getValueTypes(this.field) : [];
    if (literal === undefined || this.type !== DEFAULT_VALUE_TYPE) return;
    this.input.typedInput('type', literal);
    this.isLiteralStarted = true;
    this.refresh();
    const menu = this.elements.container.find('.red-ui-typedInput-option-trigger:visible');
    if (menu.length > 0 && !this.textBox.is(':visible')) menu.trigger('click');
    else this.textBox.trigger('focus');
    this.tools.onLiteralStarted(this);
  }

  private reset(): void {
    this.isLiteralStarted = false;
    this.input.typedInput('type', DEFAULT_VALUE_TYPE);
    this.elements.container.find('.red-ui-typedInput-value-label [tabindex]').trigger('focus');
  }

  /** Turns the row into a literal after a click or a key on the default text. Tab and modifier keys do nothing. */
  private handleDefaultEvent(event: JQuery.TriggeredEvent): void {
    const { key = '', ctrlKey, metaKey, altKey } = event;
    const isKey = event.type === 'keydown';
    if (isKey && (ctrlKey === true || metaKey === true || altKey === true || !(key.length === 1 || key === 'Enter'))) return;
    // A letter continues into the focused input. A click must not move the cursor.
    if (!isKey || key === 'Enter' || key === ' ') event.preventDefault();
    this.startLiteral();
  }

  /** Restores the default if the user leaves the row without entering a value. */
  private handleFocusOut(nextElement: Element | null): void {
    if (!this.isLiteralStarted || (nextElement && this.elements.container[0]?.contains(nextElement)) || this.tools.contains(nextElement))
      return;
    const hasEntered = this.textBox.is(':visible') && this.input.typedInput('value') !== '';
    if (hasEntered || nextElement?.closest('.red-ui-typedInput-options')) return;
    this.isLiteralStarted = false;
    this.input.typedInput('type', DEFAULT_VALUE_TYPE);
  }

  private withoutEvents(change: () => void): void {
    this.isUpdating = true;
    change();
    this.isUpdating = false;
  }

  private readInput(): void {
    if (this.isUpdating || !this.field) return;
    const type = this.input.typedInput('type');
    if (type !== this.type || this.input.typedInput('value') !== '') this.isLiteralStarted = false;
    this.type = type;
    if (this.type !== DEFAULT_VALUE_TYPE) this.valueSource = { type: this.type, value: this.input.typedInput('value') };
    if (this.type === 'cred') this.secret = this.input.typedInput('value');
    else if (this.type !== DEFAULT_VALUE_TYPE) this.plainValue = this.input.typedInput('value');
    this.refresh();
    this.onChange();
  }

  /** Clears the text when the type changes, because Node-RED keeps it and a secret must not become a property name. */
  private keepSecretApart(): void {
    const type = this.input.typedInput('type');
    const previousType = this.type;
    this.type = type;
    if (this.isUpdating || (type !== 'cred' && previousType !== 'cred')) return;
    const value = type === 'cred' ? this.secret : this.plainValue;
    this.withoutEvents(() => this.input.typedInput('value', value));
  }

  /** Updates tools, errors, and labels from the current value. */
  private refresh(): void {
    const isLiteral = ['str', 'num', 'json'].includes(this.type);
    this.textBox.attr('placeholder', isLiteral ? (this.field?.example ?? '') : '');
    this.elements.reset.toggle(this.type !== DEFAULT_VALUE_TYPE);
    this.elements.tools.toggle((isLiteral || this.type === DEFAULT_VALUE_TYPE) && this.elements.tools.children().length > 0);
    // A row that was just clicked shows no error for an empty value.
    const complaint = this.isLiteralStarted ? undefined : this.field && checkField(this.node, this.field, this.get(), this.secret !== '');
    showError(this.elements.error, complaint);
    // Node-RED marks its own invalid inputs with the same class.
    this.input.add(this.input.next('.red-ui-typedInput-container')).toggleClass('input-error', complaint !== undefined);
    this.textBox.attr('aria-invalid', String(complaint !== undefined));
    if (!this.field) return;
    this.refreshCheckbox(this.field);
    this.tools.checkFolder(this);
    labelRowButtons(this.elements.container, this.label(this.field));
  }

  private refreshCheckbox(field: FieldInfo): void {
    const isLiteral = this.type === 'bool';
    this.elements.checkbox
      .toggle(field.kind === 'boolean')
      .prop({ checked: isLiteral ? this.get()?.value === 'true' : field.default === true, indeterminate: !isLiteral })
      .attr('aria-label', field.kind === 'boolean' ? this.label(field) : null);
  }

  private label(field: FieldInfo): string {
    return this.node._(`${getAreaName(this.node)}.${field.text}.label`);
  }

  private createDefaultType(): TypedInputType {
    return {
      value: DEFAULT_VALUE_TYPE,
      label: this.node._('source.default'),
      valueLabel: (container) => {
        const label = $('<span class="gateway-default" role="button" tabindex="0">').text(this.defaultText).attr('title', this.defaultText);
        container.empty().append(label);
      },
    };
  }

  private toTypedInputType(type: string, field: FieldInfo): string | TypedInputType {
    if (type !== 'str' || !field.choices) return type;
    const stored = this.valueSource?.type === 'str' && !field.choices.includes(this.valueSource.value) ? [this.valueSource.value] : [];
    const options = [...field.choices, ...stored].map((value) => ({ value, label: value }));
    return { value: 'str', label: this.node._('source.choice'), icon: 'fa fa-list-ul', options };
  }
}

const MAX_VISIBLE_FIELDS = 5;

/** Shows the rows of an operation in the order of its fields: at most five, and the rest under *More*. */
export function showFieldRows(node: RedNode, rows: readonly FieldRow[], fields: Readonly<Record<string, FieldInfo>>): void {
  const parent = $('.gateway-fields');
  for (const row of rows) {
    row.hide();
    // Keeps the row in the page while the fold is removed.
    row.element.appendTo(parent);
  }
  parent.children('.gateway-more-fields').remove();
  const names = Object.keys(fields);
  const visibleNames = [...names.filter((name) => fields[name]?.required), ...names.filter((name) => !fields[name]?.required)].slice(
    0,
    MAX_VISIBLE_FIELDS,
  );
  const foldedNames = names.filter((name) => !visibleNames.includes(name));
  const fold = $('<details class="gateway-fold gateway-more-fields">').append(
    $('<summary>').text(node._('action.more', { n: foldedNames.length })),
  );
  const showRow = (name: string, container: JQuery): void => {
    const field = fields[name];
    if (field) rows.find((row) => row.name === name)?.show(field, container);
  };
  for (const name of names) if (visibleNames.includes(name)) showRow(name, parent);
  if (foldedNames.length === 0) return;
  fold.appendTo(parent);
  for (const name of foldedNames) showRow(name, fold);
  const isNeeded = rows.some((row) => foldedNames.includes(row.name) && (row.get() !== undefined || fields[row.name]?.required));
  fold.prop('open', isNeeded).on('toggle', () => RED.tray.resize());
}
