import { checkField } from '../dialogs/action-validators';
import { getToolNames, type FieldTools } from './field-tools';
import { createRow, labelControls, labelRow, type RowElements } from './row-elements';
import { DEFAULT_TYPE, getValueTypes, type ValueSource } from './value-types';
import { getAreaName, type FieldInfo } from '../operation-table';
import { renderMarkup, showError } from '../text';

/** One row of the dialog: a typed input whose first type says what runs when nothing is chosen here. */
export class FieldRow {
  private readonly elements: RowElements;
  private readonly input: JQuery;
  /** The credential that Node-RED stores, for fields that may be a secret. */
  private readonly credentialInput: JQuery;
  /** What was typed, also while the row is hidden or cannot show it, so that going back and forth loses nothing. */
  private valueSource: ValueSource | undefined;
  private field: FieldInfo | undefined;
  private defaultText = '';
  /** Set while the row itself changes its input. */
  private isUpdating = false;
  /** A click made it a literal, and nothing was entered since. */
  private isLiteralStarted = false;
  private type = DEFAULT_TYPE;
  private secret: string;
  private plainValue = '';

  constructor(
    private readonly node: RedNode,
    readonly name: string,
    entry: ValueSource | undefined,
    private readonly onChange: () => void,
    private readonly tools: FieldTools,
  ) {
    this.elements = createRow(node, name, () => this.reset());
    this.input = this.elements.input;
    this.credentialInput = $(`#node-input-${name}.gateway-hidden`);
    this.secret = String(this.credentialInput.val() ?? '');
    this.valueSource = entry?.type === 'cred' ? { type: 'cred', value: this.secret } : entry;
    this.input.typedInput({ types: [this.createDefaultType()] });
    this.input.on('typedinputtypechange', () => this.keepSecretApart());
    this.input.on('change keyup paste', () => this.readInput());
    this.elements.container.on('mouseenter focusin', () => tools.preload(this));
    this.elements.container.on('focusout', (event) => this.handleFocusOut(event.relatedTarget as Element | null));
    this.elements.container.on('mousedown keydown', '.gateway-default', (event) => this.handleDefaultEvent(event));
  }

  hide(): void {
    this.field = undefined;
    this.elements.container.hide();
  }

  /** Shows the row below those that are shown, for an operation's field, with what was typed as far as that field takes it. */
  show(field: FieldInfo): void {
    this.field = field;
    this.elements.container.appendTo(this.elements.container.parent()).show();
    labelRow(this.elements, field, this.label(field), this.node._('action.required'));
    renderMarkup(this.elements.note, this.node._(`${getAreaName(this.node)}.${field.text}.help`));
    const entry = this.valueSource && getValueTypes(field).includes(this.valueSource.type) ? this.valueSource : undefined;
    this.withoutEvents(() => {
      this.input.typedInput('types', [this.createDefaultType(), ...getValueTypes(field).map((type) => this.toTypedInputType(type, field))]);
      this.input.typedInput('type', entry?.type ?? DEFAULT_TYPE);
      this.type = entry?.type ?? DEFAULT_TYPE;
      if (entry) this.input.typedInput('value', entry.value);
    });
    this.elements.tools.empty().append(getToolNames(field).map((tool) => this.tools.button(tool, this)));
    this.refresh();
  }

  /** In words what the first type stands for; changes as other rows change. */
  setDefault(text: string): void {
    this.defaultText = text;
    this.elements.container.find('.gateway-default').text(text).attr('title', text);
    if (this.field) labelControls(this.elements.container, this.label(this.field));
  }

  /** What to store in `fields`, or undefined. A secret itself is not among it. */
  get(): ValueSource | undefined {
    if (!this.field || this.type === DEFAULT_TYPE || !this.valueSource) return undefined;
    return this.type === 'cred' ? { type: 'cred', value: '' } : { ...this.valueSource };
  }

  /** Sets the field as if it had been typed. */
  set(type: string, value: string): void {
    this.isLiteralStarted = false;
    this.input.typedInput('type', type);
    this.input.typedInput('value', value);
  }

  /** What a tool works on. */
  get currentField(): FieldInfo | undefined {
    return this.field;
  }

  get element(): JQuery {
    return this.elements.container;
  }

  /** Where text is typed, once the row is a literal. */
  get textBox(): JQuery {
    return this.elements.container.find('.red-ui-typedInput-input');
  }

  /** Hands the secret to Node-RED's credentials, or takes it away where no secret is typed in. */
  storeSecret(): void {
    const secret = this.get()?.type === 'cred' ? this.secret : '';
    // Without its input Node-RED leaves the credential alone; an empty one would count as a change of the node.
    if (secret === '' && this.credentialInput.val() === '') this.credentialInput.remove();
    else this.credentialInput.val(secret);
  }

  /** Makes it a literal with the cursor in it; of few choices it opens the menu. */
  startLiteral(): void {
    const [literal] = this.field ? getValueTypes(this.field) : [];
    if (literal === undefined || this.type !== DEFAULT_TYPE) return;
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
    this.input.typedInput('type', DEFAULT_TYPE);
    this.elements.container.find('.red-ui-typedInput-value-label [tabindex]').trigger('focus');
  }

  /** A click or a key on the words of the default. Tab goes on, and modifiers alone are no text. */
  private handleDefaultEvent(event: JQuery.TriggeredEvent): void {
    const { key = '', ctrlKey, metaKey, altKey } = event;
    const isKey = event.type === 'keydown';
    if (isKey && (ctrlKey === true || metaKey === true || altKey === true || !(key.length === 1 || key === 'Enter'))) return;
    // The letter goes on to where the cursor is then; a click would put it elsewhere.
    if (!isKey || key === 'Enter' || key === ' ') event.preventDefault();
    this.startLiteral();
  }

  /** Who clicks into a row and goes on has entered nothing. */
  private handleFocusOut(nextElement: Element | null): void {
    if (!this.isLiteralStarted || (nextElement && this.elements.container[0]?.contains(nextElement)) || this.tools.contains(nextElement))
      return;
    const hasEntered = this.textBox.is(':visible') && this.input.typedInput('value') !== '';
    if (hasEntered || nextElement?.closest('.red-ui-typedInput-options')) return;
    this.isLiteralStarted = false;
    this.input.typedInput('type', DEFAULT_TYPE);
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
    if (this.type !== DEFAULT_TYPE) this.valueSource = { type: this.type, value: this.input.typedInput('value') };
    if (this.type === 'cred') this.secret = this.input.typedInput('value');
    else if (this.type !== DEFAULT_TYPE) this.plainValue = this.input.typedInput('value');
    this.refresh();
    this.onChange();
  }

  /** Node-RED carries a text from one type to the next; a secret must not become the name of a message property. */
  private keepSecretApart(): void {
    const type = this.input.typedInput('type');
    const previousType = this.type;
    this.type = type;
    if (this.isUpdating || (type !== 'cred' && previousType !== 'cred')) return;
    const value = type === 'cred' ? this.secret : this.plainValue;
    this.withoutEvents(() => this.input.typedInput('value', value));
  }

  /** Everything that follows from what the row holds now. */
  private refresh(): void {
    const isLiteral = ['str', 'num', 'json'].includes(this.type);
    this.textBox.attr('placeholder', isLiteral ? (this.field?.example ?? '') : '');
    this.elements.reset.toggle(this.type !== DEFAULT_TYPE);
    this.elements.tools.toggle((isLiteral || this.type === DEFAULT_TYPE) && this.elements.tools.children().length > 0);
    // Who just clicked into it is not reproached that nothing is there.
    const complaint = this.isLiteralStarted ? undefined : this.field && checkField(this.node, this.field, this.get(), this.secret !== '');
    showError(this.elements.error, complaint);
    // As Node-RED marks the inputs that it knows.
    this.input.add(this.input.next('.red-ui-typedInput-container')).toggleClass('input-error', complaint !== undefined);
    this.textBox.attr('aria-invalid', String(complaint !== undefined));
    if (this.field) labelControls(this.elements.container, this.label(this.field));
  }

  private label(field: FieldInfo): string {
    return this.node._(`${getAreaName(this.node)}.${field.text}.label`);
  }

  private createDefaultType(): TypedInputType {
    return {
      value: DEFAULT_TYPE,
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
