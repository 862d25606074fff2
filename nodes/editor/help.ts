import { getAreaName, hasArea } from './operation-table';
import { getDialogValue } from './dialog-state';

/** Loads the full help when the help of a gateway node is opened, and scrolls to the selected operation. */
export function installHelpLoader(): void {
  const originalGetNodeHelp = RED.nodes.getNodeHelp?.bind(RED.nodes);
  // Without this function, the help shows only its first paragraph.
  if (!originalGetNodeHelp) return;
  RED.nodes.getNodeHelp = (type) => {
    const text = originalGetNodeHelp(type);
    // The palette also calls this for its tooltips, so only visible help loads the rest.
    if (isOwnNodeType(type)) setTimeout(() => void showFullHelp(type));
    return text;
  };
}

const isOwnNodeType = (type: string): boolean =>
  hasArea(type) || ['gateway-appliance', 'gateway-inventory', 'gateway-watch'].includes(type);

let pendingLoad: Promise<void> | undefined;

const isExcerptShown = (type: string): boolean => $(`.red-ui-help .gateway-more[data-type="${type}"]`).length > 0;

async function showFullHelp(type: string): Promise<void> {
  if (isExcerptShown(type)) {
    try {
      await (pendingLoad ??= loadFullHelp());
    } catch {
      // The next call tries again.
      pendingLoad = undefined;
      return;
    }
    if (isExcerptShown(type)) RED.sidebar.help.show(type, false);
  }
  scrollToOperation(type);
}

async function loadFullHelp(): Promise<void> {
  const language = localStorage.getItem('editor-language') ?? RED.i18n.detectLanguage();
  const text = String(await $.get({ url: 'gateway-appliance/help', data: { lang: language }, dataType: 'text' }));
  new DOMParser()
    .parseFromString(text, 'text/html')
    .querySelectorAll('script[data-help-name]')
    .forEach((script) => {
      // The stub is HTML; the full help is Markdown.
      $(`script[data-help-name="${script.getAttribute('data-help-name') ?? ''}"]`)
        .attr('type', script.getAttribute('type'))
        .text(script.textContent ?? '');
    });
}

let openNode: RedNode | undefined;

/** Scrolls the open help to the operation of the dialog. */
export function setHelpNode(node: RedNode | undefined): void {
  openNode = node;
  if (node) setTimeout(() => scrollToOperation(node.type));
}

/** Scrolls to the heading of the selected operation. */
function scrollToOperation(type: string): void {
  const node = openNode ?? RED.view.selection().nodes?.[0];
  if (node?.type !== type || !hasArea(type)) return;
  const label = node._(`${getAreaName(node)}.operation.${String(getDialogValue(node, 'operation'))}.label`);
  const heading = $('.red-ui-help h4').filter((_, element) => $(element).text().trim() === label);
  heading.get(0)?.scrollIntoView({ block: 'start' });
}
