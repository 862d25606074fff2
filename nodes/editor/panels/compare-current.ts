import { compareWithDesired } from '../../../src/change/compare';
import type { OpenedPanel, PanelOptions } from './types';
import { formatPlural, renderMarkup } from '../text';

/** Loads the current resource into an empty body, or shows the differences to a filled one below the field. */
export function openCurrentComparison(options: PanelOptions): OpenedPanel {
  const { node, target } = options;
  const panel = $('<div class="gateway-panel gateway-difference" role="status" aria-live="polite">');
  let closeListener = (): void => undefined;
  target.element.find('.gateway-difference').remove();
  target.element.find('.gateway-input').after(panel.text(node._('list.searching')));
  void loadCurrent(options, panel);
  return {
    close: () => {
      panel.remove();
      closeListener();
    },
    onClosed: (listener) => (closeListener = listener),
  };
}

async function loadCurrent(options: PanelOptions, panel: JQuery): Promise<void> {
  const { node, target } = options;
  const { path } = options.getLiteralTexts();
  if (path === undefined || path.includes('{{')) {
    panel.text(node._('current.path'));
    return;
  }
  const answer = await options.post('read', { root: node.type === 'gateway-request' ? 'request' : 'config', path });
  if (!answer.ok) {
    panel.empty().append($('<b>').text(options.heading(node, answer, 'tree', path)), renderMarkup($('<div>'), answer.message));
    return;
  }
  if (answer.resource === undefined) {
    panel.text(node._('tree.undeployed'));
    return;
  }
  const current = withoutLinks(answer.resource);
  const readBody = (): Record<string, unknown> | undefined => {
    const source = target.get();
    return source?.type === 'json' ? parseObject(source.value) : undefined;
  };
  const isLoaded = readBody() === undefined;
  if (isLoaded) target.set('json', JSON.stringify(current));
  const draw = (): void => {
    const body = readBody();
    if (body) renderDifferences(node, panel, current, body);
    else panel.text(node._('current.no-object'));
    RED.tray.resize();
  };
  draw();
  if (isLoaded) {
    panel.prepend($('<div>').text(node._('current.loaded')));
    target.textBox.trigger('focus');
  }
  target.element.off('.gateway-difference').on('change.gateway-difference keyup.gateway-difference', draw);
}

function renderDifferences(node: RedNode, panel: JQuery, current: Record<string, unknown>, body: Record<string, unknown>): void {
  const { diff } = compareWithDesired('', body, current);
  const unknown = Object.keys(body).filter((key) => !(key in current));
  panel.empty().append($('<b>').text(diff.length === 0 ? node._('current.same') : formatPlural(node, 'current.differs', diff.length)));
  for (const { field, before, after } of diff) {
    const line = $('<div>').append(
      $('<code>').text(field),
      ' ',
      $('<del>').text(formatValue(before)),
      ' → ',
      $('<ins>').text(formatValue(after)),
    );
    panel.append(line);
  }
  if (unknown.length > 0) panel.append($('<div>').text(node._('current.unknown', { keys: unknown.join(', ') })));
  const keys = Object.keys(current).filter((key) => !(key in body));
  if (keys.length > 0) panel.append($('<div>').text(node._('current.keys', { keys: keys.join(', ') })));
}

const formatValue = (value: unknown): string => (value === undefined || value === null ? '–' : JSON.stringify(value));

/** Removes links, which have separate paths, and masked secrets. */
function withoutLinks(resource: unknown): Record<string, unknown> {
  if (typeof resource !== 'object' || resource === null || Array.isArray(resource)) return {};
  const isLink = (value: unknown): boolean => typeof value === 'object' && value !== null && 'href' in value;
  return Object.fromEntries(
    Object.entries(resource).filter(
      ([, value]) => !isLink(value) && value !== '••••' && !(Array.isArray(value) && value.length > 0 && value.every(isLink)),
    ),
  );
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(json) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
