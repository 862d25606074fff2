import { applianceOf, ask, toolHeading } from './asking';
import type { Entries } from './sources';
import { live } from './state';
import { areaNameOf, everyField, operationOf, operationsOf, type FieldInfo } from './table';
import { load } from './tools';

/** The button that shows what the node would send, as the dialog stands now. */
export function openPreview(node: RedNode, entries: () => Entries): void {
  const place = $('.gateway-preview-place');
  $('#gateway-preview').on('click', () => {
    void load().then(
      ({ preview }) =>
        preview({
          node,
          place,
          body: () => ({
            ...{ id: node.id, type: node.type, operation: live(node, 'operation'), operationType: live(node, 'operationType') },
            allowDestroy: $('#node-input-allowDestroy').prop('checked') === true,
            fields: entries(),
          }),
          label: (name) => node._(`${areaNameOf(node)}.operation.${name.replace(/^.*\./, '')}.label`),
          sample: () => sampleOf(node, entries()),
          last: () => ask(node, 'last', { id: node.id }),
          ask: (body) => {
            const appliance = applianceOf(node);
            if (appliance) return ask(node, 'preview', { ...body, appliance });
            return Promise.resolve({ ok: false, code: 'BAD_CONFIG', message: node._('check.appliance-missing') });
          },
          heading: toolHeading,
        }),
      () => RED.notify(node._('test.unreachable-help'), 'error'),
    );
  });
}

/** What was shown for another operation is not true of this one. */
export function closePreview(): void {
  $('.gateway-preview-place').empty();
}

/** A message that has everything that the node takes from one, with the examples of its help. */
function sampleOf(node: RedNode, entries: Entries): Record<string, unknown> {
  const [operation, type] = [live(node, 'operation'), live(node, 'operationType')];
  const chosen = operationOf(node, operation, type);
  const message: Record<string, unknown> = { payload: {} };
  for (const [name, field] of Object.entries(chosen?.fields ?? everyField(node))) {
    const entry = entries[name];
    if (entry?.type === 'msg') put(message, entry.value, exampleOf(field));
    else if (!entry && field.required && !field.guard) put(message, `payload.${name}`, exampleOf(field));
  }
  const [first] = Object.keys(operationsOf(node));
  if (type === 'msg') put(message, String(operation), first);
  return message;
}

/** Under a name with dots; what has brackets in it is left to whoever wrote it. */
function put(message: Record<string, unknown>, path: string, value: unknown): void {
  const names = path.replace(/^msg\./, '').split('.');
  const last = names.pop();
  if (last === undefined || !/^[\w-]+(\.[\w-]+)*$/.test(path)) return;
  let place = message;
  for (const name of names) place = (place[name] ??= {}) as Record<string, unknown>;
  place[last] = value;
}

function exampleOf({ example = '', kind, choices }: FieldInfo): unknown {
  if (choices) return choices[0];
  if (kind === 'text' || kind === 'path' || example === '') return example;
  try {
    return JSON.parse(example) as unknown;
  } catch {
    return example;
  }
}
