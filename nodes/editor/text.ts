import { parseEnvReference } from '../common/rules';

/** Fills an element with a text of the catalogue in which `backticks` mark code. Never HTML: some texts come from elsewhere. */
export function renderMarkup(element: JQuery, text: string): JQuery {
  element.empty();
  text.split('`').forEach((part, index) => {
    if (part) element.append(index % 2 === 1 ? $('<code>').text(part) : document.createTextNode(part));
  });
  return element;
}

/** A value that Node-RED replaces with an environment variable's: nothing can be said of it here. */
export function isVariable(value: string): boolean {
  return parseEnvReference(value) !== undefined;
}

/** Says beneath an input what is wrong with it; true or undefined: nothing. */
export function showError(element: JQuery, verdict: string | true | undefined): void {
  const complaint = typeof verdict === 'string' ? verdict : '';
  element.text(complaint).toggle(complaint !== '');
}

/** A property of a node as text; what an import brought that is no text counts as nothing. */
export function toPropertyText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** A node, or what has its words. */
interface Translatable {
  readonly _: (key: string, values?: Record<string, unknown>) => string;
}

/** A text of the catalogue for so many; that of one thing has words of its own, as in the runtime (`countedText`). */
export function pluralized(node: Translatable, key: string, count: number, values: Record<string, string | number> = {}): string {
  return node._(count === 1 ? `${key}-one` : key, { ...values, n: String(count) });
}
