import { parseVariableReference } from '../common/rules';

/** Fills an element with a text in which `backticks` mark code. It never inserts HTML, because some texts come from the network. */
export function renderMarkup(element: JQuery, text: string): JQuery {
  element.empty();
  text.split('`').forEach((part, index) => {
    if (part) element.append(index % 2 === 1 ? $('<code>').text(part) : document.createTextNode(part));
  });
  return element;
}

/** Whether Node-RED replaces the value with an environment variable, so that the editor cannot check it. */
export function isVariableReference(value: string): boolean {
  return parseVariableReference(value) !== undefined;
}

/** Shows an error below an input. The verdicts true and undefined hide it. */
export function showError(element: JQuery, verdict: string | true | undefined): void {
  const complaint = typeof verdict === 'string' ? verdict : '';
  element.text(complaint).toggle(complaint !== '');
}

/** Returns a node property as text, and '' for other types, which an imported flow can contain. */
export function readTextProperty(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** An object with a catalog. */
interface Translatable {
  readonly _: (key: string, values?: Record<string, unknown>) => string;
}

/** Returns the plural text of the catalog, or the singular text (`key-one`) for 1. */
export function formatPlural(node: Translatable, key: string, count: number, values: Record<string, string | number> = {}): string {
  return node._(count === 1 ? `${key}-one` : key, { ...values, n: String(count) });
}

/** Creates a button with only an icon. Its label is a tooltip and an accessible name. */
export function createToolButton(icon: string, label: string, onPress: () => void): JQuery {
  return $('<button type="button" class="red-ui-button gateway-tool">')
    .attr({ title: label, 'aria-label': label })
    .append($('<i aria-hidden="true">').addClass(`fa ${icon}`))
    .on('click', onPress);
}
