import type { ApiResult } from '../api';
import type { FieldInfo } from '../operation-table-types';

/** The field that a tool fills. */
export interface PanelTarget {
  readonly name: string;
  /** The name of the value in texts of the tool. Without it, the label of the row. */
  readonly title?: string;
  readonly element: JQuery;
  readonly textBox: JQuery;
  get(): { type: string; value: string } | undefined;
  set(type: string, value: string): void;
  /** Returns what to search for. Without it, the text in the field. */
  readonly getSearch?: () => string;
}

/** The arguments of a tool. panels.js is a separate script and shares no state with the dialog. */
export interface PanelOptions {
  readonly node: RedNode;
  readonly target: PanelTarget;
  readonly field: FieldInfo;
  readonly post: (route: string, body: Record<string, unknown>) => Promise<ApiResult>;
  /** Calls an admin route that needs no appliance. */
  readonly postLocal: (route: string, body: Record<string, unknown>) => Promise<ApiResult>;
  /** Cache key of a deployed appliance. */
  readonly applianceKey: string | undefined;
  /** Returns the heading of an error. `object` is what the tool reads. */
  readonly heading: (node: RedNode, error: { code: string; reason?: string }, tool: 'list' | 'tree', object: string) => string;
  /** Returns the label of another field of the operation, or undefined. */
  readonly getFieldLabel: (name: string) => string | undefined;
  readonly getLiteralTexts: () => Record<string, string>;
  /** Returns the body field with the new content of a resource, for an operation that changes a resource. */
  readonly getBodyTarget: () => PanelTarget | undefined;
}

export interface OpenedPanel {
  close(): void;
  onClosed(listener: () => void): void;
}

export interface Panels {
  pick(options: PanelOptions): OpenedPanel;
  known(options: PanelOptions): OpenedPanel;
  tree(options: PanelOptions): OpenedPanel;
  filter(options: PanelOptions): OpenedPanel;
  current(options: PanelOptions): OpenedPanel;
  folder(options: PanelOptions): OpenedPanel;
  /** Shows below a folder field whether its folder exists. */
  readonly checkFolder: (options: FolderCheckOptions) => void;
  readonly offers: (options: MissingFlowPartsOptions) => void;
  readonly preview: (options: PreviewOptions) => void;
  readonly try: (options: PreviewOptions) => void;
  readonly test: (options: ConnectionTestOptions) => Promise<void>;
}

/** The arguments of the check of a folder. */
export type FolderCheckOptions = Pick<PanelOptions, 'node' | 'target' | 'postLocal'>;

/** The arguments of the offers to add missing parts of a flow. */
export interface MissingFlowPartsOptions {
  readonly node: RedNode;
  readonly container: JQuery;
  /** Whether the node was just placed. */
  readonly isNew: boolean;
  readonly hasFailureOutput: () => boolean;
}

/** The arguments of the preview. */
export interface PreviewOptions {
  readonly node: RedNode;
  readonly container: JQuery;
  /** Returns the operation and the fields of the dialog. */
  readonly body: () => Record<string, unknown>;
  /** Creates a message with an example value for each field that comes from the message. */
  readonly createSample: () => Record<string, unknown>;
  /** Fetches the last message that the node received. */
  readonly fetchLastMessage: () => Promise<ApiResult>;
  /** Returns the label of an operation. */
  readonly label: (name: string) => string;
  readonly post: (body: Record<string, unknown>) => Promise<ApiResult>;
  readonly heading: (node: RedNode, answer: { code: string; reason?: string }) => string;
}

/** The arguments of the connection test. */
export interface ConnectionTestOptions {
  readonly node: RedNode;
  /** Collects steps that undo changes to other nodes. */
  readonly undoSteps: (() => void)[];
  readonly container: JQuery;
  readonly button: JQuery;
  /** Returns the values of the dialog. */
  readonly getValues: () => Record<string, unknown>;
  readonly post: (node: RedNode, route: string, body: Record<string, unknown>) => Promise<ApiResult>;
  readonly heading: (node: RedNode, answer: { code: string; reason?: string }) => string;
}
