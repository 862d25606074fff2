import { getErrorHeading } from '../api';
import { createToolButton, formatPlural } from '../text';
import { toApplianceKey, type SidebarContext } from './context';
import { createCollapsibleSection, createIconElement, createTimeElement } from './elements';
import { createOutcomeList } from './outcomes';
import { createWaitingPlans } from './waiting-plans';
import type { SidebarAppliance } from './types';

type Level = 'ok' | 'bad' | 'unknown';
const ICONS: Readonly<Record<Level, string>> = { ok: 'fa-check-circle', bad: 'fa-exclamation-triangle', unknown: 'fa-circle-o' };

/** One appliance: its state in the head, everything else in the body. */
export function createApplianceCard(context: SidebarContext, appliance: SidebarAppliance, opensAtFirst: boolean): JQuery {
  const { text, cards } = context;
  const key = toApplianceKey(appliance);
  const isOpen = cards.get(key) ?? (opensAtFirst || appliance.waiting.length > 0);
  const level = findLevel(appliance);
  const toggle = $('<button type="button" class="gateway-card-toggle">')
    .attr('aria-expanded', String(isOpen))
    .append(createIconElement(isOpen ? 'fa-chevron-down' : 'fa-chevron-right'), $('<span class="gateway-card-name">').text(appliance.name))
    .on('click', () => {
      cards.set(key, !isOpen);
      context.redraw();
    });
  const head = $('<div class="gateway-card-head">').append($('<h3>').append(toggle));
  if (appliance.id !== undefined)
    head.append(createToolButton('fa-pencil', text('sidebar.edit', { name: appliance.name }), () => edit(appliance)));
  if (context.mayWrite && appliance.undeployed !== true) head.append(createRefresh(context, appliance));
  const state = $('<p class="gateway-card-state">')
    .addClass(`gateway-state-${level}`)
    .append(createIconElement(ICONS[level]), $('<span>').text(describeState(context, appliance)));
  if (appliance.contact) state.append(createTimeElement(appliance.contact.at));
  const card = $('<li class="gateway-card">').append(head, state);
  const message = context.messages.get(key);
  // The body has the reason of the last contact already.
  if (message !== undefined && !(isOpen && message === appliance.contact?.value.message))
    card.append($('<p class="gateway-card-message" role="alert">').text(message));
  return isOpen ? card.append(createBody(context, appliance)) : card;
}

function edit({ id }: SidebarAppliance): void {
  if (id !== undefined) RED.editor.editConfig('', 'gateway-appliance', id);
}

function createRefresh(context: SidebarContext, appliance: SidebarAppliance): JQuery {
  const isBusy = context.busy.has(`${toApplianceKey(appliance)} refresh`);
  const button = createToolButton('fa-refresh', context.text('sidebar.refresh', { name: appliance.name }), () => {
    void context.call(appliance, 'refresh', {});
  });
  button.prop('disabled', isBusy).find('i').toggleClass('fa-spin', isBusy);
  return button;
}

function findLevel({ fault, contact }: SidebarAppliance): Level {
  if (fault !== undefined || contact?.value.code) return 'bad';
  return contact ? 'ok' : 'unknown';
}

function describeState({ node, text }: SidebarContext, { fault, contact, undeployed, waiting }: SidebarAppliance): string {
  if (undeployed) return text('sidebar.undeployed');
  if (fault !== undefined) return fault;
  if (contact?.value.code) return getErrorHeading(node, { code: contact.value.code });
  const state = text(contact ? 'sidebar.answers' : 'sidebar.unused');
  return waiting.length > 0 ? `${state} · ${formatPlural(node, 'sidebar.to-approve', waiting.length)}` : state;
}

function createBody(context: SidebarContext, appliance: SidebarAppliance): JQuery {
  const { node, text } = context;
  const { sessions, licenses, backup, contained, contact, problems } = appliance;
  const body = $('<div class="gateway-card-body">');
  const reason = contact?.value.message;
  if (typeof reason === 'string') body.append($('<p class="gateway-card-note">').text(reason));
  const facts = $('<dl>').appendTo(body);
  const add = (label: string, value: string | JQuery, at?: string): void => {
    const shown = $('<dd>').append(typeof value === 'string' ? document.createTextNode(value) : value);
    if (at !== undefined) shown.append(' ', createTimeElement(at));
    facts.append($('<dt>').text(text(label)), shown);
  };
  const unknown = text('sidebar.unknown');
  add('sidebar.sessions', sessions ? sessions.value.toLocaleString() : unknown, sessions?.at);
  add('sidebar.licenses', licenses ? describeLicenses(context, licenses.value) : unknown, licenses?.at);
  add('sidebar.backup', backup ? describeBackup(context, backup.value) : unknown, backup?.at);
  add('sidebar.contained', contained.length === 0 ? text('sidebar.nobody') : createContained(context, contained));
  for (const problem of problems) body.append($('<p class="gateway-card-note">').text(problem));
  createWaitingPlans(context, appliance)?.appendTo(body);
  createOutcomeList(context, appliance)?.appendTo(body);
  if (!appliance.journal && appliance.outcomes.length > 0)
    body.append($('<p class="gateway-card-note">').text(node._('sidebar.no-journal')));
  return body;
}

function describeLicenses({ openFolds, text }: SidebarContext, value: NonNullable<SidebarAppliance['licenses']>['value']): string | JQuery {
  // The reason is long, and most appliances are not license servers.
  if (typeof value === 'string') return createCollapsibleSection(openFolds, value, text('sidebar.not-readable'), $('<p>').text(value));
  if (value.length === 0) return text('sidebar.none');
  return value.map(({ name, value: percent }) => `${name} ${percent} %`).join(', ');
}

function describeBackup(
  { openFolds, text }: SidebarContext,
  { ok, text: name, changed }: NonNullable<SidebarAppliance['backup']>['value'],
): string | JQuery {
  if (!ok) return createCollapsibleSection(openFolds, name, text('sidebar.backup-failed'), $('<p>').text(name));
  return changed === null ? text('sidebar.backup-made') : text(changed ? 'sidebar.backup-changed' : 'sidebar.backup-same');
}

function createContained({ text }: SidebarContext, contained: SidebarAppliance['contained']): JQuery {
  return $('<ul>').append(
    contained.map(({ name, until, ...more }) =>
      $('<li>').append(`${name ?? more['source-ip'] ?? ''} `, text('sidebar.until'), ' ', createTimeElement(until)),
    ),
  );
}
