import { parseIdentityPins } from '../../../src/model/rules';

const findPinInput = (): JQuery => $('#node-config-input-pin');

/** Describes the identity pin for the responding appliance, with a button that sets it. */
export function describePin(node: RedNode, names: readonly string[]): { text: string; isWarning: boolean; button: JQuery | undefined } {
  const [name] = names;
  const pinnedNames = parseIdentityPins(String(findPinInput().val() ?? ''));
  if (name === undefined) return { text: '', isWarning: false, button: undefined };
  if (names.some((candidate) => pinnedNames.includes(candidate.toUpperCase())))
    return { text: node._('pin.same'), isWarning: false, button: undefined };
  const button = $('<button type="button" class="red-ui-button gateway-pin">').text(node._('pin.button', { name }));
  button.on('click', () => {
    findPinInput().val(name).trigger('change');
    $('.gateway-guards').prop('open', true);
    button.replaceWith(document.createTextNode(node._('pin.set', { name })));
  });
  return { text: pinnedNames.length > 0 ? node._('pin.other') : '', isWarning: pinnedNames.length > 0, button };
}
