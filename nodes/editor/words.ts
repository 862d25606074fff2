/** Fills an element with a text of the catalogue in which `backticks` mark code. Never HTML: some texts come from elsewhere. */
export function prose(element: JQuery, text: string): JQuery {
  element.empty();
  text.split('`').forEach((part, index) => {
    if (part) element.append(index % 2 === 1 ? $('<code>').text(part) : document.createTextNode(part));
  });
  return element;
}

/** Shows what is wrong beneath an input and marks it as Node-RED marks its own; undefined takes both away. */
export function complain(input: JQuery, place: JQuery, complaint: string | undefined): void {
  input.add(input.next('.red-ui-typedInput-container')).toggleClass('input-error', complaint !== undefined);
  place.text(complaint ?? '').toggle(complaint !== undefined);
}
