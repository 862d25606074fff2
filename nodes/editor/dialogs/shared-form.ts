import { hasArea, getFormParts, getCredentialFields } from '../operation-table';

/** Fills the template of each action node from the one shared form. Node-RED reads a template when a dialog opens. */
export function fillFormTemplates(): void {
  RED.events.on('registry:node-type-added', (type) => {
    if (typeof type === 'string' && hasArea(type)) $(`script[data-template-name="${type}"]`).text(createForm(type));
  });
}

const PART_PATTERN = /<!-- (\w+) -->([^]*?)<!-- \/ -->/g;
const FIELDS_TAG = '<div class="gateway-fields">';

/** Works on text, because a page has twenty types and mostly opens no dialog. */
function createForm(type: string): string {
  const parts: readonly string[] = getFormParts(type);
  // Node-RED itself reads and stores these inputs. Field rows are created when the dialog opens.
  const secrets = getCredentialFields(type).map((name) => `<input type="password" class="gateway-hidden" id="node-input-${name}">`);
  return ($('#gateway-action-form').html() ?? '')
    .replace(PART_PATTERN, (_whole, part: string, content: string) => (parts.includes(part) ? content : ''))
    .replace(FIELDS_TAG, () => FIELDS_TAG + secrets.join(''));
}
