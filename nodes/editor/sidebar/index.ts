import { readTextProperty } from '../text';
import { SidebarContext } from './context';
import { createApplianceCard } from './appliance-card';
import { toApplianceKey } from './context';
import { createRecipeList, openRecipes } from './recipe-list';
import type { SidebarAppliance, SidebarOverview } from './types';

/** The content of sidebar.css, inserted by the build. */
declare const SIDEBAR_STYLE: string;

$('<style>').text(SIDEBAR_STYLE).appendTo(document.head);

/** Topic that the runtime publishes when something changed. It carries no data. */
const CHANGED_TOPIC = 'gateway-appliance/overview';
/** Maximum number of cards that are open at first. */
const MAX_OPEN_CARDS = 3;
/** Minimum number of appliances for which a search is offered. */
const MIN_SEARCHABLE = 9;

let sidebar: Sidebar | undefined;

/** Fills the tab when it is opened, and updates it later. */
export function openSidebar(node: RedNode, container: JQuery): void {
  sidebar ??= new Sidebar(node, container);
  sidebar.load();
}

export { openRecipes as recipes };

class Sidebar {
  private readonly context: SidebarContext;
  private readonly list = $('<ul class="gateway-cards">');
  private readonly note = $('<p class="gateway-card-note" role="status">');
  private readonly search: JQuery;
  private overview: SidebarOverview | undefined;
  private drawn = '';

  constructor(
    private readonly node: RedNode,
    container: JQuery,
  ) {
    this.context = new SidebarContext(
      node,
      () => this.draw(),
      () => this.load(),
    );
    this.search = $('<input type="search" class="gateway-search">')
      .attr({ placeholder: node._('sidebar.search'), 'aria-label': node._('sidebar.search') })
      .on('input', () => this.draw());
    const body = $('<div class="gateway-sidebar-body">').append(
      createRecipeList(this.context),
      $('<h2>').text(node._('sidebar.appliances')),
      this.search,
      this.note,
      this.list,
    );
    container.empty().append(body);
    const update = (): void => {
      if (container.is(':visible')) this.load();
    };
    RED.comms.subscribe(CHANGED_TOPIC, update);
    RED.comms.subscribe('notification/runtime-deploy', update);
    RED.events.on('nodes:add', (added) => this.redrawFor(added));
    RED.events.on('nodes:remove', (removed) => this.redrawFor(removed));
  }

  /** Asks the runtime for its state. No appliance is contacted. */
  load(): void {
    void $.getJSON('gateway-appliance/overview').then(
      (overview: SidebarOverview) => {
        this.overview = overview;
        this.draw();
      },
      ({ status }: { status: number }) => {
        this.note.text(this.node._(status === 401 || status === 403 ? 'test.denied-help' : 'test.unreachable-help'));
      },
    );
  }

  private redrawFor(node: unknown): void {
    if ((node as RedNode).type === 'gateway-appliance') setTimeout(() => this.draw());
  }

  private draw(): void {
    if (!this.overview) return;
    const all = [...this.overview.appliances, ...findUndeployed(this.overview)];
    const isSearchable = all.length >= MIN_SEARCHABLE;
    this.search.toggle(isSearchable);
    const wanted = isSearchable ? String(this.search.val()).trim().toLowerCase() : '';
    const shown = all.filter(({ name, url }) => `${name}\n${url}`.toLowerCase().includes(wanted));
    this.note.empty();
    if (all.length === 0) this.note.append(this.node._('sidebar.no-appliance'), ' ', this.createAddButton());
    else if (this.overview.total > this.overview.appliances.length)
      this.note.text(this.node._('sidebar.first', { shown: all.length, total: this.overview.total }));
    const { cards, busy, messages, pendingUndo } = this.context;
    // A list that did not change keeps its focus and selection.
    const drawn = JSON.stringify([shown, [...cards], [...busy], [...messages], pendingUndo]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const focused = this.list.find(':focus').attr('data-focus');
    this.list.empty().append(shown.map((appliance) => createApplianceCard(this.context, appliance, all.length <= MAX_OPEN_CARDS)));
    this.list.find('button, summary').each((index, element) => void $(element).attr('data-focus', toFocusKey(element, index)));
    if (focused !== undefined)
      this.list
        .find('[data-focus]')
        .filter((_, element) => $(element).attr('data-focus') === focused)
        .trigger('focus');
  }

  private createAddButton(): JQuery {
    return $('<button type="button" class="red-ui-button red-ui-button-small">')
      .text(this.node._('sidebar.add'))
      .on('click', () => RED.editor.editConfig('', 'gateway-appliance', '_ADD_'));
  }
}

/** Identifies a button, to find it again after the list was redrawn. */
function toFocusKey(element: HTMLElement, index: number): string {
  return element.getAttribute('aria-label') ?? element.textContent ?? String(index);
}

/** Appliances in the editor that the runtime does not know yet. */
function findUndeployed({ appliances }: SidebarOverview): SidebarAppliance[] {
  const known = new Set(appliances.map((appliance) => toApplianceKey(appliance)));
  const found: SidebarAppliance[] = [];
  RED.nodes.eachConfig((config) => {
    if (config.type !== 'gateway-appliance' || known.has(config.id)) return;
    const url = readTextProperty(config.url);
    const empty = { journal: false, contained: [], waiting: [], outcomes: [], problems: [] };
    found.push({
      id: config.id,
      name: config.name === '' || config.name === undefined ? url : config.name,
      url,
      undeployed: true,
      ...empty,
    });
  });
  return found;
}
