import type { FieldInfo } from '../operation-table';
import { createToolButton } from '../text';

export interface RowElements {
  readonly container: JQuery;
  readonly label: JQuery;
  readonly input: JQuery;
  /** Sets a boolean with one click. */
  readonly checkbox: JQuery;
  readonly reset: JQuery;
  readonly tools: JQuery;
  readonly error: JQuery;
  readonly note: JQuery;
}

const KIND_ICONS: Record<FieldInfo['kind'], string> = {
  text: 'fa-font',
  number: 'fa-hashtag',
  amount: 'fa-percent',
  boolean: 'fa-toggle-on',
  choice: 'fa-list-ul',
  object: 'fa-file-code-o',
  list: 'fa-list',
  path: 'fa-sitemap',
  records: 'fa-user',
  names: 'fa-user',
  data: 'fa-file-o',
  content: 'fa-file-code-o',
};
/** The icon of a guard by its kind: a limit is a number, a folder is a text. */
const GUARD_ICONS: Partial<Record<FieldInfo['kind'], string>> = { number: 'fa-shield', amount: 'fa-shield', text: 'fa-folder-open-o' };

function getFieldIcon(field: FieldInfo): string {
  if (field.secret) return 'fa-lock';
  return (field.guard && GUARD_ICONS[field.kind]) || KIND_ICONS[field.kind];
}

/** Creates the row of a field at the end of the form. */
export function createFieldRowElements(node: RedNode, name: string, onReset: () => void): RowElements {
  const id = `gateway-field-${name}`;
  const row = {
    container: $('<div class="form-row gateway-row gateway-field">').attr('data-field', name),
    label: $(`<label for="${id}-value"><i class="fa" aria-hidden="true"></i> <span></span></label>`),
    input: $('<input type="text" style="width: 100%">').attr('id', id),
    checkbox: $('<input type="checkbox" class="gateway-boolean">').hide(),
    reset: createToolButton('fa-times', node._('source.back'), onReset).addClass('gateway-reset'),
    tools: $('<span class="gateway-tools">'),
    error: $('<div class="gateway-error">').attr('id', `${id}-error`),
    note: $('<div class="gateway-note" data-note="field">').attr('id', `${id}-note`),
  };
  const line = $('<div class="gateway-input">').append(row.checkbox, row.input, row.tools, row.reset);
  row.container.append(row.label, $('<div>').append(line, row.error, row.note)).appendTo('.gateway-fields');
  return row;
}

/** Labels the row and marks a required field in words. */
export function labelFieldRow({ container, label, input }: RowElements, field: FieldInfo, text: string, requiredText: string): void {
  label
    .find('.fa')
    .attr('class', `fa ${getFieldIcon(field)}`)
    .end()
    .find('span')
    .text(text)
    .append(field.required ? $('<small class="gateway-required" aria-hidden="true">').text(requiredText) : '');
  container.find('.red-ui-typedInput-input').attr({
    id: `${String(input.attr('id'))}-value`,
    'aria-required': String(field.required === true),
    'aria-describedby': `${String(input.attr('id'))}-error ${String(input.attr('id'))}-note`,
  });
}

/** Names the buttons of Node-RED for screen readers: the label of the field and the current value. */
export function labelRowButtons(row: JQuery, label: string): void {
  const type = row.find('.red-ui-typedInput-type-select');
  type.attr('aria-label', `${label}: ${type.attr('title') ?? ''}`);
  const option = row.find('.red-ui-typedInput-option-trigger');
  option.attr('aria-label', `${label}: ${option.text().trim()}`);
  row.find('.red-ui-typedInput-option-expand').attr('aria-label', `${label}: …`);
  row.find('.gateway-default').attr('aria-label', `${label}: ${row.find('.gateway-default').text()}`);
  row.find('.gateway-tool').each((_, button) => button.setAttribute('aria-label', `${label}: ${button.title}`));
}

/** Returns the text of a label. The catalog is the fallback, because Node-RED inserts form texts after `oneditprepare`. */
function readLabelText(label: JQuery): string {
  return label.text().trim() || RED._(label.find('[data-i18n]').attr('data-i18n') ?? '');
}

/** Labels a typed input of the form. Its label points to the visible control. */
export function labelTypedInput(input: JQuery): void {
  const id = String(input.attr('id'));
  const row = input.closest('.gateway-row');
  const label = row.children('label');
  const updateLabels = (): void => {
    const text = readLabelText(label);
    labelRowButtons(row, text);
    const textBox = row.find('.red-ui-typedInput-input').attr({ id: `${id}-value`, 'aria-label': text });
    row.find('.red-ui-typedInput-option-trigger').attr('id', `${id}-choice`);
    const isMenu = [textBox, textBox.parent()].some((part) => part.css('display') === 'none');
    label.attr('for', `${id}-${isMenu ? 'choice' : 'value'}`);
  };
  input.on('change typedinputtypechange', updateLabels);
  updateLabels();
}

/** Hides icons from screen readers and names the two icon buttons beside a configuration node. */
export function labelFormButtons(): void {
  $('.gateway-form i.fa').attr('aria-hidden', 'true');
  $('.gateway-form a[id*="-input-btn-"]').each((_, button) => {
    const [, buttonKind = ''] = /-(edit|add)$/.exec(button.id) ?? [];
    const text = readLabelText($(button).closest('.gateway-row').children('label'));
    const action = RED._(buttonKind === 'add' ? 'editor.configAdd' : 'editor.configEdit');
    // A link without an address has no role, so it could not have a name.
    if (buttonKind) $(button).attr({ role: 'button', 'aria-label': `${text}: ${action}` });
  });
}
