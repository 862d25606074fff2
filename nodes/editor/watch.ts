import { readLimits } from '../../src/watch/limits';
import { likelyAppliance } from './likely';
import { live, setOpen } from './state';
import { isVariable, prose, tell, textOf } from './words';

const KINDS = ['sessions', 'health', 'system', 'cluster', 'license', 'certificate'];
/** For which kinds of watch a property means something, as the rows say it too. */
const OF_KINDS: Record<string, readonly string[]> = { limits: ['health', 'license'], filter: ['sessions'], days: ['certificate'] };
const LIMITS: Record<string, string> = {
  health: '[{ "name": "CPU-UTILIZATION", "above": 90, "release": 80, "checks": 3 }]',
  license: '[{ "name": "*", "above": 90, "release": 85 }]',
};

/** What is wrong with a property of a watch; one that its kind does not have is never wrong. */
export function checkWatch(node: RedNode, value: unknown, property: string): true | string {
  const kinds = OF_KINDS[property];
  if (kinds && !kinds.includes(textOf(live(node, 'watch')))) return true;
  const text = textOf(value).trim();
  if (isVariable(text)) return true;
  switch (property) {
    case 'watch':
      return KINDS.includes(text) || node._('watch.check.watch');
    case 'every':
      return (text !== '' && Number(text) >= 1 && Number(text) <= 86_400) || node._('watch.check.every');
    case 'days':
      return /^(\d{1,4}([\s,;]+\d{1,4})*)?$/.test(text) || node._('watch.check.days');
    case 'filter':
      return text === '' || isFilter(text) || node._('watch.check.filter');
    case 'limits':
      return text === '' || limitsFault(text) || node._('watch.check.limits');
    default:
      return true;
  }
}

function isFilter(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
  } catch {
    return false;
  }
}

/** True, the words of the rule, or nothing where it is no JSON at all. */
function limitsFault(text: string): true | string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  try {
    readLimits(value);
    return true;
  } catch (fault) {
    return String(fault);
  }
}

/** Shows the rows that the chosen kind has, and says beneath an input what is wrong with it. */
export function openWatch(node: RedNode): void {
  setOpen(node);
  const select = $('#node-input-watch');
  if (!select.val()) select.val('sessions');
  const check = (property: string): void =>
    tell($(`[data-error="${property}"]`), checkWatch(node, $(`#node-input-${property}`).val(), property));
  const show = (): void => {
    const kind = String(select.val());
    $('[data-watch]').each(function () {
      $(this).toggle(String($(this).attr('data-watch')).split(' ').includes(kind));
    });
    prose($('#gateway-watch-about'), node._(`watch.about.${kind}`));
    $('#node-input-limits').attr('placeholder', LIMITS[kind] ?? '');
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

/** A node that was just placed means the appliance that the tab uses. */
export function addWatch(node: RedNode): void {
  node.appliance = likelyAppliance(node) ?? '';
}

export function watchLabel(node: RedNode): string {
  return node.name || node._(`watch.title.${KINDS.includes(textOf(node.watch)) ? textOf(node.watch) : 'sessions'}`);
}
