// The part of the API of Node-RED's editor that the dialogs use, in 4.1 and 5.0. The published types lack validation helpers and typed inputs.

interface RedNode {
  id: string;
  type: string;
  name?: string;
  valid?: boolean | null;
  credentials?: Record<string, unknown>;
  /** The node without the proxy of the editor. */
  __node__?: RedNode;
  /** The imported properties, each as JSON. */
  _config?: Record<string, string | undefined>;
  _: (key: string, options?: Record<string, unknown>) => string;
  [property: string]: unknown;
}

interface TypedInputOption {
  value: string;
  label: string;
}

interface TypedInputType {
  value: string;
  label: string;
  icon?: string;
  hasValue?: boolean;
  options?: TypedInputOption[];
  valueLabel?: (container: JQuery, value: string) => void;
}

interface TypedInputOptions {
  types: (string | TypedInputType)[];
  default?: string;
  typeField?: string;
}

interface JQuery {
  typedInput(options: TypedInputOptions): JQuery;
  typedInput(method: 'type' | 'value'): string;
  typedInput(method: 'type' | 'value', value: string): void;
  treeList(options: { data: unknown[] }): JQuery;
  treeList(method: 'filter', keep: ((item: never) => boolean) | null): JQuery;
  typedInput(method: 'types', types: (string | TypedInputType)[]): void;
}

declare const RED: {
  _(key: string): string;
  nodes: {
    node(id: string): RedNode | null;
    eachNode(visit: (node: RedNode) => void): void;
    eachConfig(visit: (node: RedNode) => void): void;
    /** An internal function of the editor that returns the help of a type. */
    getNodeHelp?: (type: string) => string;
    eachLink(visit: (link: { source: RedNode; sourcePort?: number; target: RedNode }) => void): void;
    import(nodes: readonly object[], options: object): unknown;
    addLink(link: object): void;
    dirty(): boolean;
    getType(type: string): { defaults?: Record<string, unknown>; credentials?: Record<string, unknown>; _?: RedNode['_'] } | undefined;
    id(): string;
    workspace(id: string): RedNode | null;
    group(id: string): RedNode | null;
    eachGroup(visit: (group: RedNode) => void): void;
    add(node: object): void;
    remove(id: string): void;
    dirty(dirty: boolean): void;
  };
  history: { push(event: object): void };
  events: { on(event: string, listener: (argument: unknown) => void): void };
  editor: { validateNode(node: RedNode): boolean; editConfig(property: string, type: string, id: string): void };
  actions: { add(name: string, handler: () => void): void };
  comms: { subscribe(topic: string, listener: () => void): void };
  workspaces: { active(): string; isLocked(id: string): boolean; show(id: string): void };
  tray: {
    resize(): void;
    close(done?: () => void): void;
    show(options: {
      title: string;
      width: number;
      buttons: { id: string; text: string; class?: string; click: () => void }[];
      open: (tray: JQuery) => void;
      close: () => void;
      show: () => void;
    }): void;
  };
  sidebar: {
    addTab(options: Record<string, unknown>): void;
    show(id: string): void;
    help: { show(type: string, bringToFront: boolean): void };
  };
  view: {
    importNodes(nodes: object[], options: object): void;
    reveal(ids: string[]): void;
    selection(): { nodes?: RedNode[] };
    redraw(updatesActive: boolean): void;
    /** Badges on nodes. */
    annotations?: {
      register(
        id: string,
        options: {
          type: 'badge';
          class: string;
          element(node: RedNode): SVGElement;
          filter(node: RedNode): boolean;
          show(node: RedNode): boolean;
          refresh(node: RedNode): boolean;
          tooltip(node: RedNode): string;
        },
      ): void;
    };
  };
  i18n: { detectLanguage(): string };
  user: { hasPermission(permission: string): boolean };
  notify(text: string, type: 'error' | 'warning'): void;
  utils: {
    /** Returns true or an error text. */
    validateTypedProperty(value: string, type: string, options: object): true | string;
  };
};
