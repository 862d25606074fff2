import { getAreaName, hasArea } from './operation-table';
import { getCurrentValue } from './dialog-state';

/** A look at the help of one of our nodes brings all of it, and goes to the operation that is chosen. */
export function installHelpLoader(): void {
  const originalGetNodeHelp = RED.nodes.getNodeHelp?.bind(RED.nodes);
  // Where an editor asks in another way, the beginning is shown, and nothing is lost but the rest.
  if (!originalGetNodeHelp) return;
  RED.nodes.getNodeHelp = (type) => {
    const text = originalGetNodeHelp(type);
    // The palette asks for all of them while it is made, and for its hints the beginning is enough: what counts is what is shown.
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
      // The next look tries again.
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
      // The beginning is HTML, all of it is Markdown.
      $(`script[data-help-name="${script.getAttribute('data-help-name') ?? ''}"]`)
        .attr('type', script.getAttribute('type'))
        .text(script.textContent ?? '');
    });
}

let openNode: RedNode | undefined;

/** The dialog shows another operation, or is closed: the help, where it is shown, follows. */
export function setHelpNode(node: RedNode | undefined): void {
  openNode = node;
  if (node) setTimeout(() => scrollToOperation(node.type));
}

/** The heading of the operation that is chosen, in the dialog or in the node that is selected. */
function scrollToOperation(type: string): void {
  const node = openNode ?? RED.view.selection().nodes?.[0];
  if (node?.type !== type || !hasArea(type)) return;
  const label = node._(`${getAreaName(node)}.operation.${String(getCurrentValue(node, 'operation'))}.label`);
  const heading = $('.red-ui-help h4').filter((_, element) => $(element).text().trim() === label);
  heading.get(0)?.scrollIntoView({ block: 'start' });
}
