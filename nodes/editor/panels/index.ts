import type { ApiResult } from '../api';
import { openCurrentComparison } from './compare-current';
import { openKnownValues, openValuePicker } from './value-picker';
import { openFilterBuilder } from './filter-builder';
import { openPreviewPanel, type PreviewOptions } from './preview';
import { runConnectionTest, type ConnectionTestOptions } from './connection-test';
import { openPathBrowser } from './path-browser';
import type { FieldInfo } from '../operation-table-types';

/** A row as the tools see it. */
export interface PanelTarget {
  readonly name: string;
  readonly element: JQuery;
  readonly textBox: JQuery;
  get(): { type: string; value: string } | undefined;
  set(type: string, value: string): void;
}

/** What a tool is opened with. It shares no state with the rest: it is a script of its own. */
export interface PanelOptions {
  readonly node: RedNode;
  readonly target: PanelTarget;
  readonly field: FieldInfo;
  readonly post: (route: string, body: Record<string, unknown>) => Promise<ApiResult>;
  /** Which appliance is asked, where that is a deployed one. */
  readonly applianceKey: string | undefined;
  readonly heading: (node: RedNode, answer: { code: string; reason?: string }) => string;
  readonly getLiteralTexts: () => Record<string, string>;
  /** The row of what would take the place of a resource, for an operation that changes one. */
  readonly getBodyTarget: () => PanelTarget | undefined;
}

export interface OpenPanel {
  close(): void;
  onClosed(listener: () => void): void;
}

export interface Panels {
  pick(options: PanelOptions): OpenPanel;
  known(options: PanelOptions): OpenPanel;
  tree(options: PanelOptions): OpenPanel;
  filter(options: PanelOptions): OpenPanel;
  current(options: PanelOptions): OpenPanel;
  readonly preview: (options: PreviewOptions) => void;
  readonly test: (options: ConnectionTestOptions) => Promise<void>;
}

/** What panels.css holds; the build puts it here. */
declare const PANEL_STYLE: string;

$('<style>').text(PANEL_STYLE).appendTo(document.head);

/** Members of the global `gatewayPanels`. */
export const pick = openValuePicker;
export const known = openKnownValues;
export const tree = openPathBrowser;
export const filter = openFilterBuilder;
export const current = openCurrentComparison;
export const preview = openPreviewPanel;
export const test = runConnectionTest;
