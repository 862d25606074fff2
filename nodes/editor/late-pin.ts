import { pinsOf } from '../../src/model/rules';

const field = (): JQuery => $('#node-config-input-pin');

/** What there is to say of an identity pin, once it is known which appliance answers; and a button that sets it to that one. */
export function aboutPin(node: RedNode, names: readonly string[]): { words: string; warns: boolean; button: JQuery | undefined } {
  const [name] = names;
  const pinned = pinsOf(String(field().val() ?? ''));
  if (name === undefined) return { words: '', warns: false, button: undefined };
  if (names.some((told) => pinned.includes(told.toUpperCase()))) return { words: node._('pin.same'), warns: false, button: undefined };
  const button = $('<button type="button" class="red-ui-button gateway-pin">').text(node._('pin.button', { name }));
  button.on('click', () => {
    field().val(name).trigger('change');
    $('.gateway-guards').prop('open', true);
    button.replaceWith(document.createTextNode(node._('pin.set', { name })));
  });
  return { words: pinned.length > 0 ? node._('pin.other') : '', warns: pinned.length > 0, button };
}
