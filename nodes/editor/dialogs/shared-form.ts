import { hasArea, getFormParts, getCredentialFields } from '../operation-table';

/**
 * All action nodes have one form, which stands in gateway.html once: the template of each type, there by its name alone, gets what its
 * area has of it. Node-RED reads a template when a dialog is opened.
 */
export function fillFormTemplates(): void {
  RED.events.on('registry:node-type-added', (type) => {
    if (typeof type === 'string' && hasArea(type)) $(`script[data-template-name="${type}"]`).text(createForm(type));
  });
}

const PART_PATTERN = /<!-- (\w+) -->([^]*?)<!-- \/ -->/g;
const FIELDS_TAG = '<div class="gateway-fields">';

/** As text: a page has twenty types, and mostly no dialog is opened. */
function createForm(type: string): string {
  const parts: readonly string[] = getFormParts(type);
  // What Node-RED reads and stores by itself; the rows of the fields are made when the dialog is opened.
  const secrets = getCredentialFields(type).map((name) => `<input type="password" class="gateway-hidden" id="node-input-${name}">`);
  return ($('#gateway-action-form').html() ?? '')
    .replace(PART_PATTERN, (_whole, part: string, content: string) => (parts.includes(part) ? content : ''))
    .replace(FIELDS_TAG, () => FIELDS_TAG + secrets.join(''));
}
