import { nameForm } from './row';
import { live, setOpen } from './state';
import { isVariable, prose, tell, textOf } from './words';

const KINDS = ['sessions', 'health', 'system', 'cluster', 'license', 'certificate', 'configuration'];
/** For which kinds of watch a property means something, as the rows say it too. */
const OF_KINDS: Record<string, readonly string[]> = { limits: ['health', 'license'], filter: ['sessions'], days: ['certificate'] };

/** What is wrong with a property of a watch; one that its kind does not have is never wrong. */
export function checkWatch(node: RedNode, value: unknown, property: string): true | string {
  const kinds = OF_KINDS[property];
  if (kinds && !kinds.includes(textOf(live(node, 'watch')))) return true;
  const text = textOf(value).trim();
  if (isVariable(text)) return true;
  switch (property) {
    case 'every':
      return (text !== '' && Number(text) >= 1 && Number(text) <= 86_400) || node._('watch.check.every');
    case 'days':
      return /^(\d{1,4}([\s,;]+\d{1,4})*)?$/.test(text) || node._('watch.check.days');
    case 'filter':
    case 'limits':
      return text === '' || isGiven(text, property === 'limits') || node._(`watch.check.${property}`);
    default:
      return true;
  }
}

/** Whether it is JSON of that kind, and not empty. What stands in it, the runtime says: its rules would weigh as much as this whole file. */
function isGiven(text: string, list: boolean): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) === list && Object.keys(value as object).length > 0;
  } catch {
    return false;
  }
}

/** Shows the rows that the chosen kind has, and says beneath an input what is wrong with it. */
export function openWatch(node: RedNode): void {
  setOpen(node);
  nameForm();
  const select = $('#node-input-watch');
  for (const kind of KINDS)
    select.append(
      $('<option>')
        .val(kind)
        .text(node._(`watch.kind.${kind}`)),
    );
  select.val(kindOf(node));
  const check = (property: string): void =>
    tell($(`[data-error="${property}"]`), checkWatch(node, $(`#node-input-${property}`).val(), property));
  const every = $('#node-input-every');
  let usual = usualOf(kindOf(node));
  const show = (): void => {
    const kind = String(select.val());
    // What nobody has entered goes with the kind.
    if (every.val() === usual) every.val(usualOf(kind));
    usual = usualOf(kind);
    $('[data-watch]').each(function () {
      $(this).toggle(String($(this).attr('data-watch')).split(' ').includes(kind));
    });
    prose($('#gateway-watch-about'), node._(`watch.about.${kind}`));
    $('#node-input-limits').attr('placeholder', kind === 'license' ? node._('watch.limits-license') : node._('watch.limits-health'));
    for (const property of ['every', ...Object.keys(OF_KINDS)]) check(property);
    RED.tray.resize();
  };
  for (const property of ['every', ...Object.keys(OF_KINDS)]) $(`#node-input-${property}`).on('change input', () => check(property));
  select.on('change', show);
  show();
}

export function closeWatch(): void {
  setOpen(undefined);
}

export function watchLabel(node: RedNode): string {
  return node.name || node._(`watch.title.${kindOf(node)}`);
}

/** Seconds between two checks, where nobody says: as in the library. */
const usualOf = (kind: string): string => (kind === 'configuration' ? '3600' : '60');

function kindOf(node: RedNode): string {
  const kind = textOf(node.watch);
  return KINDS.includes(kind) ? kind : 'sessions';
}
