import { toApplianceKey, type SidebarContext } from './context';
import { createLabeledButton, createCollapsibleSection, createRequestList, createTimeElement } from './elements';
import type { SidebarAppliance, SidebarWaitingPlan } from './types';

/** Shows the plans that wait for a decision, with buttons for the decision. */
export function createWaitingPlans(context: SidebarContext, appliance: SidebarAppliance): JQuery | undefined {
  const { text } = context;
  if (appliance.waiting.length === 0) return undefined;
  const plans = appliance.waiting.map((plan) => createPlan(context, appliance, plan));
  return $('<section>').append($('<h4>').text(text('sidebar.waiting')), $('<ul class="gateway-waiting">').append(plans));
}

function createPlan(context: SidebarContext, appliance: SidebarAppliance, plan: SidebarWaitingPlan): JQuery {
  const { text, openFolds } = context;
  const { id, summary, actor, since, expires, node } = plan;
  const who = actor ?? RED.nodes.node(node)?.name ?? text('sidebar.a-flow');
  const facts = $('<div class="gateway-who">').append(
    createTimeElement(since),
    ` ${who === '' ? text('sidebar.a-flow') : who} · ${text('sidebar.expires')} `,
    createTimeElement(expires),
  );
  const item = $('<li>').append($('<div class="gateway-sentence">').text(summary), facts);
  if (plan.plan.length > 0)
    item.append(createCollapsibleSection(openFolds, id, text('preview.requests', { n: plan.plan.length }), createRequestList(plan.plan)));
  if (!context.mayWrite) return item;
  const isBusy = context.busy.has(`${toApplianceKey(appliance)} decide`);
  const decide = (decision: 'approve' | 'reject'): JQuery => {
    const label = text(decision === 'approve' ? 'sidebar.approve' : 'sidebar.reject');
    const button = createLabeledButton(label, () => void context.call(appliance, 'decide', { id, decision }), `${label}: ${summary}`);
    return button.toggleClass('primary', decision === 'approve').prop('disabled', isBusy);
  };
  return item.append($('<div class="gateway-buttons">').append(decide('approve'), decide('reject')));
}
