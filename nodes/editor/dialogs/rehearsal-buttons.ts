import { postToAppliance } from '../api';
import { findConfigDialogInput } from '../dialog-state';
import { showError } from '../text';

/** Shows the buttons of the copy while the deployed appliance rehearses with the folder of the dialog, and what *Test connection* reaches. */
export function attachRehearsalButtons(node: RedNode): void {
  const showButtons = (): void => {
    const folder = String(findConfigDialogInput('rehearsal').val() ?? '').trim();
    $('.gateway-rehearsal').toggle(folder !== '' && folder === node.rehearsal && node.changed !== true);
    const reachesAddress = folder === '' && typeof node.rehearsal === 'string' && node.rehearsal.trim() !== '';
    $('.gateway-test-target')
      .toggle(folder !== '' || reachesAddress)
      .toggleClass('gateway-warning', reachesAddress)
      .text(node._(reachesAddress ? 'rehearsal.tests-address' : 'rehearsal.tests-copy'));
  };
  findConfigDialogInput('rehearsal').on('change input', showButtons);
  showButtons();
  $('#gateway-rehearsal-reset').on('click', () => void act(node, 'reset'));
  $('#gateway-rehearsal-compare').on('click', (event) => {
    event.preventDefault();
    void act(node, 'compare');
  });
}

/** Resets the copy or shows its differences, as plain text because parts come from the configuration. */
async function act(node: RedNode, action: 'reset' | 'compare'): Promise<void> {
  const place = $('.gateway-rehearsal-result').removeClass('gateway-error').text(node._('rehearsal.running'));
  const details = $('.gateway-rehearsal-text').text('');
  const answer = await postToAppliance(node, 'rehearsal', { id: node.id, action });
  if (place[0]?.isConnected !== true) return;
  if (!answer.ok) return void showError(place.addClass('gateway-error'), answer.message);
  if (action === 'reset') place.text(node._('rehearsal.is-reset'));
  else {
    const { added, removed, changed, text, isCut } = answer;
    const isEqual = added === 0 && removed === 0 && changed === 0;
    const values = { added: Number(added), removed: Number(removed), changed: Number(changed) };
    place.text(isEqual ? node._('rehearsal.equal') : node._('rehearsal.changes', values));
    if (!isEqual) details.text(String(text) + (isCut === true ? '\n…' : ''));
  }
  RED.tray.resize();
}
