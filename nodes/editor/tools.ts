import { applianceOf, ask, toolHeading } from './asking';
import type { FieldRow } from './field';
import type { Late, Opened, Opening } from './late';
import { toolButton } from './row';
import type { FieldInfo } from './table';

/** What helps to fill a field. Each is loaded when it is first used. */
export type Tool = 'pick' | 'known' | 'tree' | 'filter' | 'current';

const ICONS: Record<Tool, string> = {
  pick: 'fa-search',
  known: 'fa-caret-down',
  tree: 'fa-sitemap',
  filter: 'fa-filter',
  current: 'fa-download',
};

export function iconsOfTools(field: FieldInfo): Tool[] {
  const tools: Tool[] = [];
  if (field.names !== undefined) tools.push(field.names === 'path' ? 'tree' : 'pick');
  if (field.known) tools.push('known');
  if (field.editor === 'session-filter') tools.push('filter');
  if (field.editor === 'resource') tools.push('current');
  return tools;
}

/** What the script defines that is loaded when a tool is first used. */
declare const gatewayLate: Late;

let late: Promise<Late> | undefined;

/** The part of the editor half that nobody needs who only looks at a flow. */
export function load(): Promise<Late> {
  late ??= new Promise((resolve, reject) => {
    $.ajax({ url: 'gateway-appliance/late.js', dataType: 'script', cache: true })
      .done(() => resolve(gatewayLate))
      .fail((request) => {
        late = undefined;
        reject(new Error(String(request.status)));
      });
  });
  return late;
}

/** The tools of one open dialog, of which at most one is open. */
export class Tools {
  private open: { row: FieldRow; opened: Opened } | undefined;

  /** `given`: texts that stand in other rows now, by the names of their fields; `body`: the row of a resource that is to be changed. */
  constructor(
    private readonly node: RedNode,
    private readonly given: () => Record<string, string>,
    private readonly body: () => FieldRow | undefined,
  ) {}

  button(tool: Tool, row: FieldRow): JQuery {
    const button = toolButton(ICONS[tool], this.node._(`tool.${tool}`), () => {
      if (this.open?.row === row && tool !== 'current') this.close();
      else if ((tool !== 'pick' && tool !== 'known') || row.get()) void this.start(tool, row);
      else row.begin();
    });
    // The cursor stays where it is.
    return button.attr('data-tool', tool).on('mousedown', (event) => event.preventDefault());
  }

  /** A row became a literal by a click: what there is to choose from opens by itself. */
  begun(row: FieldRow): void {
    const tool = row.shown && iconsOfTools(row.shown).find((one) => one === 'pick' || one === 'known' || one === 'filter');
    if (tool) void this.start(tool, row);
  }

  /** Somebody is about to use a tool of this row. Who may not is not to be told of it by a failed request. */
  near(row: FieldRow): void {
    if (row.shown && iconsOfTools(row.shown).length > 0 && RED.user.hasPermission('gateway-appliance.write')) load().catch(() => undefined);
  }

  holds(element: Element | null): boolean {
    return Boolean(element?.closest('.gateway-late'));
  }

  close(): void {
    this.open?.opened.close();
    this.open = undefined;
  }

  private async start(tool: Tool, row: FieldRow): Promise<void> {
    this.close();
    const field = row.shown;
    if (!field) return;
    try {
      const parts = await load();
      const opened = parts[tool]({
        node: this.node,
        row,
        field,
        ...asking(this.node),
        heading: toolHeading,
        given: this.given,
        body: this.body,
      });
      // What it tells stays, whatever else is opened.
      if (tool === 'current') return;
      this.open = { row, opened };
      opened.closed(() => {
        if (this.open?.opened === opened) this.open = undefined;
      });
    } catch {
      RED.notify(this.node._('test.unreachable-help'), 'error');
    }
  }
}

/** The appliance as it is chosen now: a tool that covers the form cannot look there any more. */
function asking(node: RedNode): Pick<Opening, 'ask' | 'asked'> {
  const appliance = applianceOf(node);
  if (!appliance) {
    const none = { ok: false, code: 'BAD_CONFIG', message: node._('check.appliance-missing') } as const;
    return { ask: () => Promise.resolve(none), asked: undefined };
  }
  return {
    ask: (route, body) => ask(node, route, { ...body, appliance }),
    asked: 'credentials' in appliance ? undefined : JSON.stringify(appliance),
  };
}
