import { hasArea, getSharedFormParts, getCredentialFields } from '../operation-table';

/** Fills the template of each action node from the one shared form. Node-RED reads a template when its dialog opens. */
export function fillFormTemplates(): void {
  RED.events.on('registry:node-type-added', (type) => {
    if (typeof type === 'string' && hasArea(type)) $(`script[data-template-name="${type}"]`).text(createForm(type));
  });
}

const PART_PATTERN = /<!-- (\w+) -->([^]*?)<!-- \/ -->/g;
const FIELDS_TAG = '<div class="gateway-fields">';

/** Builds the form as text, because a page has twenty types and opens few dialogs. */
function createForm(type: string): string {
  const parts: readonly string[] = getSharedFormParts(type);
  // Node-RED itself reads and stores these inputs. Field rows are created when the dialog opens.
  const secrets = getCredentialFields(type).map((name) => `<input type="password" class="gateway-hidden" id="node-input-${name}">`);
  return ($('#gateway-action-form').html() ?? '')
    .replace(PART_PATTERN, (_whole, part: string, content: string) => (parts.includes(part) ? content : ''))
    .replace(FIELDS_TAG, () => FIELDS_TAG + secrets.join(''));
}
