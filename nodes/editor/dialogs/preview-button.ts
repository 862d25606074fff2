import { toApplianceReference, postToAppliance, getFieldToolErrorHeading } from '../api';
import type { PreviewOptions } from '../panels/types';
import type { ValueSources } from '../fields/value-types';
import { getDialogValue } from '../dialog-state';
import { getAreaName, getFieldsOfAllOperations, findOperation, getOperations, type FieldInfo } from '../operation-table';
import { loadPanels } from '../fields/field-tools';

/** Connects the buttons *Preview* and *Try now* with the values of the dialog. */
export function attachPreviewButtons(node: RedNode, getValueSources: () => ValueSources): void {
  for (const route of ['preview', 'try'] as const)
    // Keeps the focus in the field: leaving it can move the button away before the click.
    $(`#gateway-${route}`)
      .on('mousedown', (event) => event.preventDefault())
      .on('click', () => {
        void loadPanels().then(
          (panels) => panels[route](createOptions(node, getValueSources, route)),
          () => RED.notify(node._('test.unreachable-help'), 'error'),
        );
      });
}

function createOptions(node: RedNode, getValueSources: () => ValueSources, route: 'preview' | 'try'): PreviewOptions {
  return {
    node,
    container: $('.gateway-preview-place'),
    body: () => ({
      id: node.id,
      type: node.type,
      operation: getDialogValue(node, 'operation'),
      operationType: getDialogValue(node, 'operationType'),
      allowDestroy: $('#node-input-allowDestroy').prop('checked') === true,
      fields: getValueSources(),
    }),
    label: (name) => node._(`${getAreaName(node)}.operation.${name.replace(/^.*\./, '')}.label`),
    createSample: () => createSampleMessage(node, getValueSources()),
    fetchLastMessage: () => postToAppliance(node, 'last', { id: node.id }),
    post: (body) => {
      const appliance = toApplianceReference(node);
      if (appliance) return postToAppliance(node, route, { ...body, appliance });
      return Promise.resolve({ ok: false, code: 'BAD_CONFIG', message: node._('check.appliance-missing') });
    },
    heading: (dialogNode, error) => getFieldToolErrorHeading(dialogNode, error, route),
  };
}

/** Removes the preview, which belongs to the previous operation. */
export function clearPreview(): void {
  $('.gateway-preview-place').empty();
}

/** Creates a message with an example value for each field that comes from the message. */
function createSampleMessage(node: RedNode, entries: ValueSources): Record<string, unknown> {
  const [operation, type] = [getDialogValue(node, 'operation'), getDialogValue(node, 'operationType')];
  const selectedOperation = findOperation(node, operation, type);
  const message: Record<string, unknown> = { payload: {} };
  for (const [name, field] of Object.entries(selectedOperation?.fields ?? getFieldsOfAllOperations(node))) {
    const entry = entries[name];
    if (entry?.type === 'msg') setByPath(message, entry.value, parseExample(field));
    else if (!entry && field.required && !field.guard) setByPath(message, `payload.${name}`, parseExample(field));
  }
  const [first] = Object.keys(getOperations(node));
  if (type === 'msg') setByPath(message, String(operation), first);
  return message;
}

/** Sets a value at a dotted path. Paths with brackets are ignored. */
function setByPath(message: Record<string, unknown>, path: string, value: unknown): void {
  const names = path.replace(/^msg\./, '').split('.');
  const last = names.pop();
  if (last === undefined || !/^[\w-]+(\.[\w-]+)*$/.test(path)) return;
  let parent = message;
  for (const name of names) parent = (parent[name] ??= {}) as Record<string, unknown>;
  parent[last] = value;
}

function parseExample({ example = '', kind, choices }: FieldInfo): unknown {
  if (choices) return choices[0];
  if (kind === 'text' || kind === 'path' || example === '') return example;
  try {
    return JSON.parse(example) as unknown;
  } catch {
    return example;
  }
}
