import { toApplianceKey, type SidebarContext } from './context';
import { createLabeledButton, createIconElement, createRequestList, createTimeElement } from './elements';
import type { PlannedRequest } from '../../../src/model/envelope';
import type { SidebarOutcome } from '../../overview/outcomes';
import type { SidebarAppliance } from './types';

/** Shows the latest outcomes: who did what, and when. */
export function createOutcomeList(context: SidebarContext, appliance: SidebarAppliance): JQuery | undefined {
  const { text } = context;
  const { outcomes } = appliance;
  if (outcomes.length === 0) return undefined;
  const items = outcomes.map((outcome) => createOutcome(context, appliance, outcome));
  return $('<section>').append($('<h4>').text(text('sidebar.latest')), $('<ul class="gateway-outcomes">').append(items));
}

function createOutcome(context: SidebarContext, appliance: SidebarAppliance, outcome: SidebarOutcome): JQuery {
  const { text, pendingUndo } = context;
  const { at, ok, undone } = outcome;
  const sentence = describeOutcome(context, outcome);
  const item = $('<li>').toggleClass('gateway-undone', undone);
  const line = $('<div class="gateway-sentence">').text(sentence);
  if (ok === false)
    line.prepend(
      createIconElement('fa-exclamation-triangle'),
      ' ',
      $('<span class="gateway-hidden-text">').text(`${text('sidebar.failed')} `),
    );
  const who = describeActor(outcome) ?? text('sidebar.a-flow');
  item.append(line, $('<div class="gateway-who">').append(createTimeElement(at), ` ${who}${undone ? ` · ${text('sidebar.undone')}` : ''}`));
  if (!context.mayWrite || undone || outcome.changed === false || outcome.undo.length === 0) return item;
  const key = `${toApplianceKey(appliance)} ${outcome.undo.join(' ')}`;
  if (pendingUndo?.key === key) return item.append(createConfirmation(context, appliance, outcome, pendingUndo));
  const isBusy = context.busy.has(`${toApplianceKey(appliance)} undo`);
  return item.append(
    $('<div class="gateway-buttons">').append(
      createLabeledButton(
        text('sidebar.undo'),
        () => void planUndo(context, appliance, outcome, key),
        `${text('sidebar.undo')}: ${sentence}`,
      ).prop('disabled', isBusy),
    ),
  );
}

/** Shows what an undo would send, before anything is sent. */
async function planUndo(context: SidebarContext, appliance: SidebarAppliance, { undo }: SidebarOutcome, key: string): Promise<void> {
  const answer = await context.call(appliance, 'undo', { entries: undo });
  if (!answer.ok) return;
  const { summary, plan } = answer as unknown as { summary: string; plan: PlannedRequest[] };
  context.pendingUndo = { key, summary, plan };
  context.redraw();
}

function createConfirmation(
  context: SidebarContext,
  appliance: SidebarAppliance,
  { undo }: SidebarOutcome,
  { summary, plan }: NonNullable<SidebarContext['pendingUndo']>,
): JQuery {
  const { text } = context;
  const close = (): void => {
    context.pendingUndo = undefined;
    context.redraw();
  };
  const confirm = (): void => {
    context.pendingUndo = undefined;
    void context.call(appliance, 'undo', { entries: undo, confirmed: true }).then((answer) => {
      // The appliance can have changed since, which is not a failure of the route.
      if (answer.ok && typeof answer.summary === 'string') context.messages.set(toApplianceKey(appliance), answer.summary);
      context.redraw();
    });
  };
  const buttons = $('<div class="gateway-buttons">').append(
    plan.length > 0 ? createLabeledButton(text('sidebar.undo-now'), confirm).addClass('primary') : '',
    createLabeledButton(text('sidebar.cancel'), close),
  );
  return $('<div class="gateway-confirmation" role="group">')
    .attr('aria-label', text('sidebar.undo'))
    .append($('<div>').text(summary), createRequestList(plan), buttons);
}

/** Returns the summary of a run. An entry of an earlier process has only its operation and target. */
function describeOutcome({ node }: SidebarContext, { summary, operation, target }: SidebarOutcome): string {
  if (summary !== null) return summary;
  const [area = '', name = ''] = operation.split('.');
  const key = `${area}.operation.${name}.label`;
  const label = node._(key);
  return `${label.endsWith(key) ? operation : label}: ${target ?? ''}`;
}

/** Returns the person, or the node without its id. */
function describeActor({ actor, node }: SidebarOutcome): string | undefined {
  return actor ?? node?.replace(/ \([0-9a-f.]+\)$/, '');
}
