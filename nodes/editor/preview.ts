import { applianceOf, ask, toolHeading } from './asking';
import type { Entries } from './sources';
import { live } from './state';
import { operationOf, type FieldInfo } from './table';
import { load } from './tools';

/** The button that shows what the node would send, as the dialog stands now. */
export function openPreview(node: RedNode, entries: () => Entries): void {
  const place = $('.gateway-preview-place');
  $('#gateway-preview').on('click', () => {
    const operation = operationOf(node, live(node, 'operation'), live(node, 'operationType'));
    if (!operation) return;
    void load().then(
      ({ preview }) =>
        preview({
          node,
          place,
          body: () => ({ type: node.type, operation: live(node, 'operation'), fields: entries() }),
          sample: () => sampleOf(operation.fields, entries()),
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
export function closePreview(shown: boolean): void {
  $('.gateway-preview').toggle(shown);
  $('.gateway-preview-place').empty();
}

/** Every required field that the dialog leaves to the message, with the example of its help. */
function sampleOf(fields: Record<string, FieldInfo>, entries: Entries): Record<string, unknown> {
  const left = Object.entries(fields).filter(([name, { required, guard }]) => required && !guard && !Object.hasOwn(entries, name));
  return { payload: Object.fromEntries(left.map(([name, field]) => [name, exampleOf(field)])) };
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
