import { toApplianceReference, postToAppliance, getFieldToolErrorHeading } from '../api';
import type { Panels, OpenedPanel, PanelOptions, PanelTarget } from '../panels/types';
import { isScriptRequested, loadScript } from '../load-script';
import { createToolButton } from '../text';
import { getFieldsOfAllOperations, getAreaName, type FieldInfo } from '../operation-table';

/** A field that tools can fill. */
export interface FieldToolTarget extends PanelTarget {
  readonly currentField: FieldInfo | undefined;
  /** Changes a field from its default source, a message property, to a literal value. */
  startLiteral(): void;
}

/** A tool that helps to fill a field. Its panel is loaded on first use. */
type ToolName = 'pick' | 'known' | 'tree' | 'filter' | 'current' | 'folder';

const ICONS: Record<ToolName, string> = {
  pick: 'fa-search',
  known: 'fa-caret-down',
  tree: 'fa-sitemap',
  filter: 'fa-filter',
  current: 'fa-download',
  folder: 'fa-folder-open-o',
};

export function getToolNames(field: FieldInfo): ToolName[] {
  const tools: ToolName[] = [];
  if (field.names !== undefined) tools.push(field.names === 'path' ? 'tree' : 'pick');
  if (field.known) tools.push('known');
  if (field.editor === 'session-filter') tools.push('filter');
  if (field.editor === 'resource') tools.push('current');
  if (field.editor === 'folder') tools.push('folder');
  return tools;
}

/** The global variable that panels.js defines. */
declare const gatewayPanels: Panels;

/** Loads panels.js, which only open dialogs need. */
export async function loadPanels(): Promise<Panels> {
  await loadScript('panels');
  return gatewayPanels;
}

/** The tools of one open dialog. At most one panel is open. */
export class FieldTools {
  private openTool: { target: FieldToolTarget; panel: OpenedPanel } | undefined;

  /**
   * `getLiteralTexts` returns the texts of the other rows by field name. `getBodyTarget` returns the row with the new content of a
   * resource. `onFilled` runs after a tool has filled a row.
   */
  constructor(
    private readonly node: RedNode,
    private readonly getLiteralTexts: () => Record<string, string>,
    private readonly getBodyTarget: () => PanelTarget | undefined,
    private readonly onFilled: () => void = () => undefined,
  ) {}

  button(tool: ToolName, target: FieldToolTarget): JQuery {
    const button = createToolButton(ICONS[tool], this.node._(`tool.${tool}`), () => {
      if (this.openTool?.target === target && tool !== 'current') this.close();
      else if ((tool !== 'pick' && tool !== 'known') || target.get()) void this.startTool(tool, target);
      else target.startLiteral();
    });
    // Keeps the focus in the text input.
    return button.attr('data-tool', tool).on('mousedown', (event) => event.preventDefault());
  }

  /** Opens the picker of a row that a click turned into a literal value. */
  onLiteralStarted(target: FieldToolTarget): void {
    const tool =
      target.currentField &&
      getToolNames(target.currentField).find((name) => name === 'pick' || name === 'known' || name === 'filter' || name === 'folder');
    if (tool) void this.startTool(tool, target);
  }

  hasPicker(target: FieldToolTarget): boolean {
    return target.currentField !== undefined && getToolNames(target.currentField).some((name) => name !== 'current');
  }

  /** Opens the picker of a row that has no value. */
  startPicker(target: FieldToolTarget): void {
    if (target.currentField && getToolNames(target.currentField).includes('tree')) void this.startTool('tree', target);
    else target.startLiteral();
  }

  /** Loads the panels early for users who have the permission to use them. */
  preload(target: FieldToolTarget): void {
    if (target.currentField && getToolNames(target.currentField).length > 0 && RED.user.hasPermission('gateway-appliance.write'))
      loadPanels().catch(() => undefined);
  }

  /** Shows whether the folder in a row exists. */
  checkFolder(target: FieldToolTarget): void {
    if (target.currentField?.editor !== 'folder' || !RED.user.hasPermission('gateway-appliance.write')) return;
    const options = {
      node: this.node,
      target,
      postLocal: (route: string, body: Record<string, unknown>) => postToAppliance(this.node, route, body),
    };
    if (isScriptRequested('panels') || target.get())
      loadPanels().then(
        ({ checkFolder }) => checkFolder(options),
        () => undefined,
      );
  }

  contains(element: Element | null): boolean {
    return Boolean(element?.closest('.gateway-panel'));
  }

  close(): void {
    this.openTool?.panel.close();
    this.openTool = undefined;
  }

  private async startTool(tool: ToolName, target: FieldToolTarget): Promise<void> {
    this.close();
    const field = target.currentField;
    if (!field) return;
    try {
      const panels = await loadPanels();
      const panel = panels[tool]({
        node: this.node,
        target,
        field,
        ...bindToAppliance(this.node),
        postLocal: (route, body) => postToAppliance(this.node, route, body),
        heading: getFieldToolErrorHeading,
        getFieldLabel: (name) => getFieldLabel(this.node, name),
        getLiteralTexts: this.getLiteralTexts,
        getBodyTarget: this.getBodyTarget,
      });
      // The comparison stays open beside other tools.
      if (tool === 'current') return;
      this.openTool = { target, panel };
      panel.onClosed(() => {
        if (this.openTool?.panel === panel) this.openTool = undefined;
        if (target.get()) this.onFilled();
      });
    } catch {
      RED.notify(this.node._('test.unreachable-help'), 'error');
    }
  }
}

/** Reads the selected appliance now, because a tool that covers the form cannot read it later. */
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

function getFieldLabel(node: RedNode, name: string): string | undefined {
  const field = getFieldsOfAllOperations(node)[name];
  return field && node._(`${getAreaName(node)}.${field.text}.label`);
}
