import { checkField } from './check';
import { DEFAULT, sourcesOf, type Entry } from './sources';
import { areaNameOf, type FieldInfo } from './table';
import { prose, tell } from './words';

/** One row of the dialog: a typed input whose first type says what runs when nothing is chosen here. */
export class FieldRow {
  private readonly row: JQuery;
  private readonly input: JQuery;
  /** The credential that Node-RED stores, for fields that may be a secret. */
  private readonly stored: JQuery;
  /** What was typed, also while the row is hidden or cannot show it, so that going back and forth loses nothing. */
  private entry: Entry | undefined;
  private field: FieldInfo | undefined;
  private words = '';
  /** Set while the row itself changes its input. */
  private busy = false;
  private type = DEFAULT;
  private secret: string;
  private clear = '';

  constructor(
    private readonly node: RedNode,
    readonly name: string,
    entry: Entry | undefined,
    private readonly changed: () => void,
  ) {
    this.row = $(`.gateway-field[data-field="${name}"]`);
    this.input = $(`#gateway-field-${name}`);
    this.stored = $(`#node-input-${name}.gateway-hidden`);
    this.secret = String(this.stored.val() ?? '');
    this.entry = entry?.type === 'cred' ? { type: 'cred', value: this.secret } : entry;
    this.input.typedInput({ types: [this.defaultType()] });
    this.input.on('typedinputtypechange', () => this.keepSecretApart());
    this.input.on('change keyup paste', () => this.read());
  }

  hide(): void {
    this.field = undefined;
    this.row.hide();
  }

  /** Shows the row below those that are shown, for an operation's field, with what was typed as far as that field takes it. */
  show(field: FieldInfo): void {
    this.field = field;
    this.row.appendTo(this.row.parent()).show();
    const text = `${areaNameOf(this.node)}.${field.text}`;
    this.row.find('label span').text(this.node._(`${text}.label`));
    prose(this.row.find('[data-note="field"]'), this.node._(`${text}.help`));
    const entry = this.entry && sourcesOf(field).includes(this.entry.type) ? this.entry : undefined;
    this.silently(() => {
      this.input.typedInput('types', [this.defaultType(), ...sourcesOf(field).map((type) => this.offered(type, field))]);
      this.input.typedInput('type', entry?.type ?? DEFAULT);
      this.type = entry?.type ?? DEFAULT;
      if (entry) this.input.typedInput('value', entry.value);
    });
    this.placeholder();
    this.check();
  }

  /** In words what the first type stands for; changes as other rows change. */
  setDefault(words: string): void {
    this.words = words;
    this.row.find('.gateway-default').text(words).attr('title', words);
  }

  /** What to store in `fields`, or undefined. A secret itself is not among it. */
  get(): Entry | undefined {
    if (!this.field || this.type === DEFAULT || !this.entry) return undefined;
    return this.type === 'cred' ? { type: 'cred', value: '' } : { ...this.entry };
  }

  /** Hands the secret to Node-RED's credentials, or takes it away where no secret is typed in. */
  store(): void {
    const secret = this.get()?.type === 'cred' ? this.secret : '';
    // Without its input Node-RED leaves the credential alone; an empty one would count as a change of the node.
    if (secret === '' && this.stored.val() === '') this.stored.remove();
    else this.stored.val(secret);
  }

  private silently(change: () => void): void {
    this.busy = true;
    change();
    this.busy = false;
  }

  private read(): void {
    if (this.busy || !this.field) return;
    this.type = this.input.typedInput('type');
    if (this.type !== DEFAULT) this.entry = { type: this.type, value: this.input.typedInput('value') };
    if (this.type === 'cred') this.secret = this.input.typedInput('value');
    else if (this.type !== DEFAULT) this.clear = this.input.typedInput('value');
    this.placeholder();
    this.check();
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

  private check(): void {
    const entry = this.get();
    const complaint = this.field && checkField(this.node, this.field, entry, this.secret !== '');
    tell(this.row.find('.gateway-error'), complaint);
    // As Node-RED marks the inputs that it knows.
    this.input.add(this.input.next('.red-ui-typedInput-container')).toggleClass('input-error', complaint !== undefined);
  }

  private placeholder(): void {
    const literal = ['str', 'num', 'json'].includes(this.type);
    this.row.find('.red-ui-typedInput-input').attr('placeholder', literal ? (this.field?.example ?? '') : '');
  }

  private defaultType(): TypedInputType {
    return {
      value: DEFAULT,
      label: this.node._('source.default'),
      valueLabel: (container) => {
        container.empty().append($('<span class="gateway-default">').text(this.words).attr('title', this.words));
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
