import { hasArea, partsOf, secretsOf } from './table';

/**
 * All action nodes have one form, which stands in gateway.html once: the template of each type, there by its name alone, gets what its
 * area has of it. Node-RED reads a template when a dialog is opened.
 */
export function shareForm(): void {
  RED.events.on('registry:node-type-added', (type) => {
    if (typeof type === 'string' && hasArea(type)) $(`script[data-template-name="${type}"]`).text(formOf(type));
  });
}

function formOf(type: string): string {
  const form = $('<div>').html($('#gateway-action-form').html());
  const parts: readonly string[] = partsOf(type);
  form.find('[data-part]').each((_index, part) => {
    if (!parts.includes(part.dataset.part ?? '')) part.remove();
  });
  // What Node-RED reads and stores by itself; the rows of the fields are made when the dialog is opened.
  for (const name of secretsOf(type)) {
    const input = $('<input type="password" class="gateway-hidden">').attr('id', `node-input-${name}`);
    form.find('.gateway-fields').append(input);
  }
  return form.html();
}
