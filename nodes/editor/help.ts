import { areaNameOf, hasArea } from './table';
import { live } from './state';

/** A look at the help of one of our nodes brings all of it, and goes to the operation that is chosen. */
export function followHelp(): void {
  const own = RED.nodes.getNodeHelp?.bind(RED.nodes);
  // Where an editor asks in another way, the beginning is shown, and nothing is lost but the rest.
  if (!own) return;
  RED.nodes.getNodeHelp = (type) => {
    const text = own(type);
    // The palette asks for all of them while it is made, and for its hints the beginning is enough: what counts is what is shown.
    if (isOurs(type)) setTimeout(() => void look(type));
    return text;
  };
}

const isOurs = (type: string): boolean => hasArea(type) || ['gateway-appliance', 'gateway-inventory', 'gateway-watch'].includes(type);

let coming: Promise<void> | undefined;

const isBeginning = (type: string): boolean => $(`.red-ui-help .gateway-more[data-type="${type}"]`).length > 0;

async function look(type: string): Promise<void> {
  if (isBeginning(type)) {
    try {
      await (coming ??= load());
    } catch {
      // The next look tries again.
      coming = undefined;
      return;
    }
    if (isBeginning(type)) RED.sidebar.help.show(type, false);
  }
  goTo(type);
}

async function load(): Promise<void> {
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

let open: RedNode | undefined;

/** The dialog shows another operation, or is closed: the help, where it is shown, follows. */
export function helpFor(node: RedNode | undefined): void {
  open = node;
  if (node) setTimeout(() => goTo(node.type));
}

/** The heading of the operation that is chosen, in the dialog or in the node that is selected. */
function goTo(type: string): void {
  const node = open ?? RED.view.selection().nodes?.[0];
  if (node?.type !== type || !hasArea(type)) return;
  const label = node._(`${areaNameOf(node)}.operation.${String(live(node, 'operation'))}.label`);
  const heading = $('.red-ui-help h4').filter((_, element) => $(element).text().trim() === label);
  heading.get(0)?.scrollIntoView({ block: 'start' });
}
