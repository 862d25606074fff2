import { postToAppliance, APPLIANCE_CREDENTIALS, collectDraftNodes, getErrorHeading, APPLIANCE_PROPERTIES } from '../api';
import { findConfigDialogInput, readConfigDialogText } from '../dialog-state';
import { loadPanels } from '../fields/field-tools';

/** Collects the values of the dialog. Unchanged secrets are the placeholder of Node-RED. */
function collectValues(node: RedNode): Record<string, unknown> {
  return {
    id: node.id,
    ...Object.fromEntries(APPLIANCE_PROPERTIES.map((property) => [property, readConfigDialogText(property)])),
    dryRun: findConfigDialogInput('dryRun').prop('checked') === true,
    credentials: Object.fromEntries(APPLIANCE_CREDENTIALS.map((name) => [name, String(findConfigDialogInput(name).val() ?? '')])),
    nodes: collectDraftNodes(readConfigDialogText('tls'), readConfigDialogText('proxy')),
  };
}

/** Steps that undo changes to TLS configurations if the user cancels the dialog. */
const undoSteps: (() => void)[] = [];

export function attachTestButton(node: RedNode): void {
  undoSteps.length = 0;
  $('#gateway-test').on('click', () => {
    void loadPanels().then(
      ({ test }) =>
        test({
          node,
          undoSteps,
          container: $('.gateway-test-result'),
          button: $('#gateway-test'),
          getValues: () => collectValues(node),
          post: postToAppliance,
          heading: getErrorHeading,
        }),
      (fault: Error) => {
        const isDenied = fault.message === '401' || fault.message === '403';
        RED.notify(node._(isDenied ? 'test.denied-help' : 'test.unreachable-help'), 'error');
      },
    );
  });
}

export function finishConnectionTest(isSaved: boolean): void {
  if (!isSaved) for (const undo of undoSteps) undo();
  undoSteps.length = 0;
}
