import { addFilterBuilder } from './watch-filter';
import type { FieldTools } from '../fields/field-tools';
import { labelFormButtons } from '../fields/row-elements';
import { getDialogValue, setEditedNode } from '../dialog-state';
import { isVariableReference, renderMarkup, showError, readTextProperty } from '../text';

const WATCH_KINDS = ['sessions', 'health', 'system', 'cluster', 'license', 'certificate', 'configuration', 'audit'];
/** The kinds of watch that use a property, as in the rows of the form. */
const KINDS_BY_PROPERTY: Record<string, readonly string[]> = {
  limits: ['health', 'license', 'sessions'],
  filter: ['sessions'],
  days: ['certificate'],
};

/** Checks a property of a watch. Properties of an unselected kind are always valid. */
export function checkWatch(node: RedNode, value: unknown, property: string): true | string {
  const kinds = KINDS_BY_PROPERTY[property];
  if (kinds && !kinds.includes(readTextProperty(getDialogValue(node, 'watch')))) return true;
  const text = readTextProperty(value).trim();
  if (isVariableReference(text)) return true;
  switch (property) {
    case 'every':
      return (text !== '' && Number(text) >= 1 && Number(text) <= 86_400) || node._('watch.check.every');
    case 'days':
      return /^(\d{1,4}([\s,;]+\d{1,4})*)?$/.test(text) || node._('watch.check.days');
    case 'filter':
    case 'limits':
      return text === '' || isNonEmptyJson(text, property === 'limits') || node._(`watch.check.${property}`);
    default:
      return true;
  }
}

/** Returns whether a text is a non-empty JSON array or object. Only the runtime checks its content. */
function isNonEmptyJson(text: string, isList: boolean): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) === isList && Object.keys(value as object).length > 0;
  } catch {
    return false;
  }
}

let openTools: FieldTools | undefined;

/** Shows the rows for the selected kind, and the error below each input. */
export function openWatchDialog(node: RedNode): void {
  setEditedNode(node);
  labelFormButtons();
  openTools = addFilterBuilder(node);
  const select = $('#node-input-watch');
  for (const kind of WATCH_KINDS)
    select.append(
      $('<option>')
        .val(kind)
        .text(node._(`watch.kind.${kind}`)),
    );
  select.val(getWatchKind(node));
  const check = (property: string): void =>
    showError($(`[data-error="${property}"]`), checkWatch(node, $(`#node-input-${property}`).val(), property));
  const intervalInput = $('#node-input-every');
  let defaultSeconds = defaultIntervalFor(getWatchKind(node));
  const show = (): void => {
    openTools?.close();
    const kind = String(select.val());
    // An untouched interval follows the kind.
    if (intervalInput.val() === defaultSeconds) intervalInput.val(defaultIntervalFor(kind));
    defaultSeconds = defaultIntervalFor(kind);
    $('[data-watch]').each(function () {
      $(this).toggle(String($(this).attr('data-watch')).split(' ').includes(kind));
    });
    renderMarkup($('#gateway-watch-about'), node._(`watch.about.${kind}`));
    if (KINDS_BY_PROPERTY.limits?.includes(kind)) $('#node-input-limits').attr('placeholder', node._(`watch.limits-${kind}`));
    for (const property of ['every', ...Object.keys(KINDS_BY_PROPERTY)]) check(property);
    RED.tray.resize();
  };
  for (const property of ['every', ...Object.keys(KINDS_BY_PROPERTY)])
    $(`#node-input-${property}`).on('change input', () => check(property));
  select.on('change', show);
  show();
}

export function closeWatchDialog(): void {
  openTools?.close();
  setEditedNode(undefined);
}

export function getWatchLabel(node: RedNode): string {
  return node.name || node._(`watch.title.${getWatchKind(node)}`);
}

/** Default poll interval in seconds, as in the library. */
const defaultIntervalFor = (kind: string): string => ({ configuration: '3600', audit: '86400' })[kind] ?? '60';

function getWatchKind(node: RedNode): string {
  const kind = readTextProperty(node.watch);
  return WATCH_KINDS.includes(kind) ? kind : 'sessions';
}
