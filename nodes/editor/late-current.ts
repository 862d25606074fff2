import { compareGiven } from '../../src/change/compare';
import type { Opened, Opening } from './late';
import { counted, prose } from './words';

/** What is there now, put into the body where that is empty; beneath it stays what would become different, as it is typed. */
export function openCurrent(opening: Opening): Opened {
  const { node, row } = opening;
  const panel = $('<div class="gateway-late gateway-difference" role="status" aria-live="polite">');
  let listener = (): void => undefined;
  row.element.find('.gateway-difference').remove();
  row.element.find('.gateway-input').after(panel.text(node._('list.searching')));
  void show(opening, panel);
  return {
    close: () => {
      panel.remove();
      listener();
    },
    closed: (then) => (listener = then),
  };
}

async function show(opening: Opening, panel: JQuery): Promise<void> {
  const { node, row } = opening;
  const { path } = opening.given();
  if (path === undefined || path.includes('{{')) {
    panel.text(node._('current.path'));
    return;
  }
  const answer = await opening.ask('read', { root: node.type === 'gateway-request' ? 'request' : 'config', path });
  if (!answer.ok) {
    panel.empty().append($('<b>').text(opening.heading(node, answer)), prose($('<div>'), answer.message));
    return;
  }
  const present = withoutLinks(answer.resource);
  const given = (): Record<string, unknown> | undefined => {
    const entry = row.get();
    return entry?.type === 'json' ? parsed(entry.value) : undefined;
  };
  const loaded = given() === undefined;
  if (loaded) row.set('json', JSON.stringify(present));
  const draw = (): void => {
    const now = given();
    if (now) compare(node, panel, present, now);
    else panel.text(node._('current.no-object'));
    RED.tray.resize();
  };
  draw();
  if (loaded) {
    panel.prepend($('<div>').text(node._('current.loaded')));
    row.box.trigger('focus');
  }
  row.element.off('.gateway-difference').on('change.gateway-difference keyup.gateway-difference', draw);
}

function compare(node: RedNode, panel: JQuery, present: Record<string, unknown>, given: Record<string, unknown>): void {
  const { diff } = compareGiven('', given, present);
  const unknown = Object.keys(given).filter((key) => !(key in present));
  panel.empty().append($('<b>').text(diff.length === 0 ? node._('current.same') : counted(node, 'current.differs', diff.length)));
  for (const { field, before, after } of diff) {
    const line = $('<div>').append($('<code>').text(field), ' ', $('<del>').text(words(before)), ' → ', $('<ins>').text(words(after)));
    panel.append(line);
  }
  if (unknown.length > 0) panel.append($('<div>').text(node._('current.unknown', { keys: unknown.join(', ') })));
  const keys = Object.keys(present).filter((key) => !(key in given));
  if (keys.length > 0) panel.append($('<div>').text(node._('current.keys', { keys: keys.join(', ') })));
}

const words = (value: unknown): string => (value === undefined || value === null ? '–' : JSON.stringify(value));

/** Links go by their own paths, and nobody sends back a secret that is masked. */
function withoutLinks(resource: unknown): Record<string, unknown> {
  if (typeof resource !== 'object' || resource === null || Array.isArray(resource)) return {};
  const isLink = (value: unknown): boolean => typeof value === 'object' && value !== null && 'href' in value;
  return Object.fromEntries(
    Object.entries(resource).filter(
      ([, value]) => !isLink(value) && value !== '••••' && !(Array.isArray(value) && value.length > 0 && value.every(isLink)),
    ),
  );
}

function parsed(json: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(json) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
