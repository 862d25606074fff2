import { checkField } from './check';
import { iconsOfTools, type Tools } from './tools';
import { makeRow, nameControls, nameRow, type Row } from './row';
import { DEFAULT, sourcesOf, type Entry } from './sources';
import { areaNameOf, type FieldInfo } from './table';
import { prose, tell } from './words';

/** One row of the dialog: a typed input whose first type says what runs when nothing is chosen here. */
export class FieldRow {
  private readonly row: Row;
  private readonly input: JQuery;
  /** The credential that Node-RED stores, for fields that may be a secret. */
  private readonly stored: JQuery;
  /** What was typed, also while the row is hidden or cannot show it, so that going back and forth loses nothing. */
  private entry: Entry | undefined;
  private field: FieldInfo | undefined;
  private words = '';
  /** Set while the row itself changes its input. */
  private busy = false;
  /** A click made it a literal, and nothing was entered since. */
  private begun = false;
  private type = DEFAULT;
  private secret: string;
  private clear = '';

  constructor(
    private readonly node: RedNode,
    readonly name: string,
    entry: Entry | undefined,
    private readonly changed: () => void,
    private readonly tools: Tools,
  ) {
    this.row = makeRow(node, name, () => this.reset());
    this.input = this.row.input;
    this.stored = $(`#node-input-${name}.gateway-hidden`);
    this.secret = String(this.stored.val() ?? '');
    this.entry = entry?.type === 'cred' ? { type: 'cred', value: this.secret } : entry;
    this.input.typedInput({ types: [this.defaultType()] });
    this.input.on('typedinputtypechange', () => this.keepSecretApart());
    this.input.on('change keyup paste', () => this.read());
    this.row.all.on('mouseenter focusin', () => tools.near(this));
    this.row.all.on('focusout', (event) => this.left(event.relatedTarget as Element | null));
    this.row.all.on('mousedown keydown', '.gateway-default', (event) => this.wake(event));
  }

  hide(): void {
    this.field = undefined;
    this.row.all.hide();
  }

  /** Shows the row below those that are shown, for an operation's field, with what was typed as far as that field takes it. */
  show(field: FieldInfo): void {
    this.field = field;
    this.row.all.appendTo(this.row.all.parent()).show();
    nameRow(this.row, field, this.label(field), this.node._('action.required'));
    prose(this.row.note, this.node._(`${areaNameOf(this.node)}.${field.text}.help`));
    const entry = this.entry && sourcesOf(field).includes(this.entry.type) ? this.entry : undefined;
    this.silently(() => {
      this.input.typedInput('types', [this.defaultType(), ...sourcesOf(field).map((type) => this.offered(type, field))]);
      this.input.typedInput('type', entry?.type ?? DEFAULT);
      this.type = entry?.type ?? DEFAULT;
      if (entry) this.input.typedInput('value', entry.value);
    });
    this.row.tools.empty().append(iconsOfTools(field).map((tool) => this.tools.button(tool, this)));
    this.look();
  }

  /** In words what the first type stands for; changes as other rows change. */
  setDefault(words: string): void {
    this.words = words;
    this.row.all.find('.gateway-default').text(words).attr('title', words);
    if (this.field) nameControls(this.row.all, this.label(this.field));
  }

  /** What to store in `fields`, or undefined. A secret itself is not among it. */
  get(): Entry | undefined {
    if (!this.field || this.type === DEFAULT || !this.entry) return undefined;
    return this.type === 'cred' ? { type: 'cred', value: '' } : { ...this.entry };
  }

  /** Sets the field as if it had been typed. */
  set(type: string, value: string): void {
    this.begun = false;
    this.input.typedInput('type', type);
    this.input.typedInput('value', value);
  }

  /** What a tool works on. */
  get shown(): FieldInfo | undefined {
    return this.field;
  }

  get element(): JQuery {
    return this.row.all;
  }

  /** Where text is typed, once the row is a literal. */
  get box(): JQuery {
    return this.row.all.find('.red-ui-typedInput-input');
  }

  /** Hands the secret to Node-RED's credentials, or takes it away where no secret is typed in. */
  store(): void {
    const secret = this.get()?.type === 'cred' ? this.secret : '';
    // Without its input Node-RED leaves the credential alone; an empty one would count as a change of the node.
    if (secret === '' && this.stored.val() === '') this.stored.remove();
    else this.stored.val(secret);
  }

  /** Makes it a literal with the cursor in it; of few choices it opens the menu. */
  begin(): void {
    const [literal] = this.field ? sourcesOf(this.field) : [];
    if (literal === undefined || this.type !== DEFAULT) return;
    this.input.typedInput('type', literal);
    this.begun = true;
    this.look();
    const menu = this.row.all.find('.red-ui-typedInput-option-trigger:visible');
    if (menu.length > 0 && !this.box.is(':visible')) menu.trigger('click');
    else this.box.trigger('focus');
    this.tools.begun(this);
  }

  private reset(): void {
    this.begun = false;
    this.input.typedInput('type', DEFAULT);
    this.row.all.find('.red-ui-typedInput-value-label [tabindex]').trigger('focus');
  }

  /** A click or a key on the words of the default. Tab goes on, and modifiers alone are no text. */
  private wake(event: JQuery.TriggeredEvent): void {
    const { key = '', ctrlKey, metaKey, altKey } = event;
    const typed = event.type === 'keydown';
    if (typed && (ctrlKey === true || metaKey === true || altKey === true || !(key.length === 1 || key === 'Enter'))) return;
    // The letter goes on to where the cursor is then; a click would put it elsewhere.
    if (!typed || key === 'Enter' || key === ' ') event.preventDefault();
    this.begin();
  }

  /** Who clicks into a row and goes on has entered nothing. */
  private left(to: Element | null): void {
    if (!this.begun || (to && this.row.all[0]?.contains(to)) || this.tools.holds(to)) return;
    const entered = this.box.is(':visible') && this.input.typedInput('value') !== '';
    if (entered || to?.closest('.red-ui-typedInput-options')) return;
    this.begun = false;
    this.input.typedInput('type', DEFAULT);
  }

  private silently(change: () => void): void {
    this.busy = true;
    change();
    this.busy = false;
  }

  private read(): void {
    if (this.busy || !this.field) return;
    const type = this.input.typedInput('type');
    if (type !== this.type || this.input.typedInput('value') !== '') this.begun = false;
    this.type = type;
    if (this.type !== DEFAULT) this.entry = { type: this.type, value: this.input.typedInput('value') };
    if (this.type === 'cred') this.secret = this.input.typedInput('value');
    else if (this.type !== DEFAULT) this.clear = this.input.typedInput('value');
    this.look();
    this.changed();
  }

  /** Node-RED carries a text from one type to the next; a secret must not become the name of a message property. */
  private keepSecretApart(): void {
    const type = this.input.typedInput('type');
    const before = this.type;
    this.type = type;
    if (this.busy || (type !== 'cred' && before !== 'cred')) return;
    const value = type === 'cred' ? this.secret : this.clear;
    this.silently(() => this.input.typedInput('value', value));
  }

  /** Everything that follows from what the row holds now. */
  private look(): void {
    const literal = ['str', 'num', 'json'].includes(this.type);
    this.box.attr('placeholder', literal ? (this.field?.example ?? '') : '');
    this.row.reset.toggle(this.type !== DEFAULT);
    this.row.tools.toggle((literal || this.type === DEFAULT) && this.row.tools.children().length > 0);
    // Who just clicked into it is not reproached that nothing is there.
    const complaint = this.begun ? undefined : this.field && checkField(this.node, this.field, this.get(), this.secret !== '');
    tell(this.row.error, complaint);
    // As Node-RED marks the inputs that it knows.
    this.input.add(this.input.next('.red-ui-typedInput-container')).toggleClass('input-error', complaint !== undefined);
    this.box.attr('aria-invalid', String(complaint !== undefined));
    if (this.field) nameControls(this.row.all, this.label(this.field));
  }

  private label(field: FieldInfo): string {
    return this.node._(`${areaNameOf(this.node)}.${field.text}.label`);
  }

  private defaultType(): TypedInputType {
    return {
      value: DEFAULT,
      label: this.node._('source.default'),
      valueLabel: (container) => {
        const words = $('<span class="gateway-default" role="button" tabindex="0">').text(this.words).attr('title', this.words);
        container.empty().append(words);
      },
    };
  }

  private offered(type: string, field: FieldInfo): string | TypedInputType {
    if (type !== 'str' || !field.choices) return type;
    const stored = this.entry?.type === 'str' && !field.choices.includes(this.entry.value) ? [this.entry.value] : [];
    const options = [...field.choices, ...stored].map((value) => ({ value, label: value }));
    return { value: 'str', label: this.node._('source.choice'), icon: 'fa fa-list-ul', options };
  }
}
