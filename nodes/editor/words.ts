import { variableOf } from '../rules';

/** Fills an element with a text of the catalogue in which `backticks` mark code. Never HTML: some texts come from elsewhere. */
export function prose(element: JQuery, text: string): JQuery {
  element.empty();
  text.split('`').forEach((part, index) => {
    if (part) element.append(index % 2 === 1 ? $('<code>').text(part) : document.createTextNode(part));
  });
  return element;
}

/** A value that Node-RED replaces with an environment variable's: nothing can be said of it here. */
export function isVariable(value: string): boolean {
  return variableOf(value) !== undefined;
}

/** Says beneath an input what is wrong with it; true or undefined: nothing. */
export function tell(place: JQuery, verdict: string | true | undefined): void {
  const complaint = typeof verdict === 'string' ? verdict : '';
  place.text(complaint).toggle(complaint !== '');
}

/** A property of a node as text; what an import brought that is no text counts as nothing. */
export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** A node, or what has its words. */
interface Speaking {
  readonly _: (key: string, values?: Record<string, unknown>) => string;
}

/** A text of the catalogue for so many; that of one thing has words of its own, as in the runtime (`countedText`). */
export function counted(node: Speaking, key: string, n: number, values: Record<string, string | number> = {}): string {
  return node._(n === 1 ? `${key}-one` : key, { ...values, n: String(n) });
}
