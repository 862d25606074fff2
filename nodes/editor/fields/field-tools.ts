import { toApplianceReference, postToAppliance, getToolErrorHeading } from '../api';
import type { FieldRow } from './field-row';
import type { Panels, OpenPanel, PanelOptions } from '../panels/index';
import { createToolButton } from './row-elements';
import type { FieldInfo } from '../operation-table';

/** What helps to fill a field. Each is loaded when it is first used. */
export type ToolName = 'pick' | 'known' | 'tree' | 'filter' | 'current';

const ICONS: Record<ToolName, string> = {
  pick: 'fa-search',
  known: 'fa-caret-down',
  tree: 'fa-sitemap',
  filter: 'fa-filter',
  current: 'fa-download',
};

export function getToolNames(field: FieldInfo): ToolName[] {
  const tools: ToolName[] = [];
  if (field.names !== undefined) tools.push(field.names === 'path' ? 'tree' : 'pick');
  if (field.known) tools.push('known');
  if (field.editor === 'session-filter') tools.push('filter');
  if (field.editor === 'resource') tools.push('current');
  return tools;
}

/** What the script defines that is loaded when a tool is first used. */
declare const gatewayPanels: Panels;

let loading: Promise<Panels> | undefined;

/** The part of the editor half that nobody needs who only looks at a flow. */
export function loadPanels(): Promise<Panels> {
  loading ??= new Promise((resolve, reject) => {
    $.ajax({ url: 'gateway-appliance/panels.js', dataType: 'script', cache: true })
      .done(() => resolve(gatewayPanels))
      .fail((request) => {
        loading = undefined;
        reject(new Error(String(request.status)));
      });
  });
  return loading;
}

/** The tools of one open dialog, of which at most one is open. */
export class FieldTools {
  private openTool: { row: FieldRow; panel: OpenPanel } | undefined;

  /** `given`: texts that stand in other rows now, by the names of their fields; `body`: the row of a resource that is to be changed. */
  constructor(
    private readonly node: RedNode,
    private readonly getLiteralTexts: () => Record<string, string>,
    private readonly getBodyRow: () => FieldRow | undefined,
  ) {}

  button(tool: ToolName, row: FieldRow): JQuery {
    const button = createToolButton(ICONS[tool], this.node._(`tool.${tool}`), () => {
      if (this.openTool?.row === row && tool !== 'current') this.close();
      else if ((tool !== 'pick' && tool !== 'known') || row.get()) void this.startTool(tool, row);
      else row.startLiteral();
    });
    // The cursor stays where it is.
    return button.attr('data-tool', tool).on('mousedown', (event) => event.preventDefault());
  }

  /** A row became a literal by a click: what there is to choose from opens by itself. */
  onLiteralStarted(row: FieldRow): void {
    const tool =
      row.currentField && getToolNames(row.currentField).find((name) => name === 'pick' || name === 'known' || name === 'filter');
    if (tool) void this.startTool(tool, row);
  }

  /** Somebody is about to use a tool of this row. Who may not is not to be told of it by a failed request. */
  preload(row: FieldRow): void {
    if (row.currentField && getToolNames(row.currentField).length > 0 && RED.user.hasPermission('gateway-appliance.write'))
      loadPanels().catch(() => undefined);
  }

  contains(element: Element | null): boolean {
    return Boolean(element?.closest('.gateway-panel'));
  }

  close(): void {
    this.openTool?.panel.close();
    this.openTool = undefined;
  }

  private async startTool(tool: ToolName, row: FieldRow): Promise<void> {
    this.close();
    const field = row.currentField;
    if (!field) return;
    try {
      const panels = await loadPanels();
      const panel = panels[tool]({
        node: this.node,
        target: row,
        field,
        ...bindToAppliance(this.node),
        heading: getToolErrorHeading,
        getLiteralTexts: this.getLiteralTexts,
        getBodyTarget: this.getBodyRow,
      });
      // What it tells stays, whatever else is opened.
      if (tool === 'current') return;
      this.openTool = { row, panel };
      panel.onClosed(() => {
        if (this.openTool?.panel === panel) this.openTool = undefined;
      });
    } catch {
      RED.notify(this.node._('test.unreachable-help'), 'error');
    }
  }
}

/** The appliance as it is chosen now: a tool that covers the form cannot look there any more. */
function bindToAppliance(node: RedNode): Pick<PanelOptions, 'post' | 'applianceKey'> {
  const appliance = toApplianceReference(node);
  if (!appliance) {
    const failure = { ok: false, code: 'BAD_CONFIG', message: node._('check.appliance-missing') } as const;
    return { post: () => Promise.resolve(failure), applianceKey: undefined };
  }
  return {
    post: (route, body) => postToAppliance(node, route, { ...body, appliance }),
    applianceKey: 'credentials' in appliance ? undefined : JSON.stringify(appliance),
  };
}
