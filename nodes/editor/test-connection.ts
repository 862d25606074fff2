import { ask, CREDENTIALS, draftNodes, headingOf, PROPERTIES } from './asking';
import { form, textIn } from './state';
import { load } from './tools';

/** What the dialog holds now. Secrets that were not touched travel as Node-RED's placeholder. */
function values(node: RedNode): Record<string, unknown> {
  return {
    id: node.id,
    ...Object.fromEntries(PROPERTIES.map((property) => [property, textIn(property)])),
    dryRun: form('dryRun').prop('checked') === true,
    credentials: Object.fromEntries(CREDENTIALS.map((name) => [name, String(form(name).val() ?? '')])),
    nodes: draftNodes(textIn('tls'), textIn('proxy')),
  };
}

/** How to take back what TLS configurations were made or changed here, if the dialog is left without Done. */
const made: (() => void)[] = [];

export function openTest(node: RedNode): void {
  made.length = 0;
  $('#gateway-test').on('click', () => {
    void load().then(
      ({ test }) =>
        test({
          node,
          made,
          place: $('.gateway-test-result'),
          button: $('#gateway-test'),
          values: () => values(node),
          ask,
          heading: headingOf,
        }),
      (fault: Error) => {
        const denied = fault.message === '401' || fault.message === '403';
        RED.notify(node._(denied ? 'test.denied-help' : 'test.unreachable-help'), 'error');
      },
    );
  });
}

export function closeTest(saved: boolean): void {
  if (!saved) for (const undo of made) undo();
  made.length = 0;
}
