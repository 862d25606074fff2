import { existsSync } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll } from 'vitest';

/** The editor's own API, as far as it is called inside the page. */
interface Query {
  typedInput(method: 'type' | 'value', value?: string): string;
  val(value?: string): string;
  prop(name: string, value?: unknown): unknown;
  trigger(event: string): Query;
  click(): Query;
  last(): Query;
}
declare const $: ((selector: string) => Query) & { fx: { off: boolean } };
declare const RED: {
  nodes: {
    node(id: string): {
      valid: boolean;
      validationErrors: string[];
      inputs: unknown;
      _def: { category: string; outputLabels(index: number): string };
      type: string;
    } | null;
    createCompleteNodeSet(): { id: string }[];
    createExportableNodeSet(nodes: unknown[]): unknown[];
    import(nodes: unknown[]): void;
    addLink(link: object): void;
    dirty(): boolean;
    version(): string;
    eachConfig(visit: (node: { id: string; users: unknown[]; _def: { hasUsers?: boolean } }) => void): void;
  };
  editor: { edit(node: unknown): void; editConfig(name: string, type: string, id: string): void };
  history: { pop(): void; redo(): void };
  view: {
    select(selection: { nodes: unknown[] }): void;
    selection(): { nodes?: { id: string }[] };
    importNodes(nodes: unknown[], options: object): void;
  };
  actions: { invoke(action: string): void };
  comms: { subscribe(topic: string, listener: (topic: string, message: { revision: string }) => void): void };
};
/** Which revision of the flows runs: a deploy is answered before its nodes have been made. */
declare const running: string | undefined;

export interface Entry {
  type: string;
  value: string;
}
export type FlowNode = Record<string, unknown> & { id: string; fields?: Record<string, Entry>; credentials?: Record<string, string> };

/** Chromium of this machine, if there is one. */
export function chromiumPath(): string | undefined {
  const places = [
    process.env.CHROMIUM_PATH,
    '/usr/bin/chromium-headless-shell',
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
    chromium.executablePath(),
  ];
  return places.find((place) => place !== undefined && place !== '' && existsSync(place));
}

/** One for all editors of a test file. */
let browser: Promise<Browser> | undefined;
afterAll(async () => (await browser)?.close());

function launchBrowser(): Promise<Browser> {
  const executablePath = chromiumPath();
  return chromium.launch({ ...(executablePath !== undefined && { executablePath }), args: ['--no-sandbox'] });
}

/**
 * The errors that the page throws from now on. Node-RED 5 shows a tip one second after its settings are loaded. If its keymap takes
 * longer, the box for the tip does not exist yet, and Node-RED's own timer throws. No package can change that, so it is left out.
 */
export function collectPageErrors(page: Page): string[] {
  const errors: string[] = [];
  page.on('pageerror', ({ message, stack = '' }) => {
    const tipWithoutBox = message.endsWith("undefined (reading 'html')") && /^[^\n]+\n[^\n]+\/red\/red(?:\.min)?\.js[^\n]*$/.test(stack);
    if (!tipWithoutBox) errors.push(stack || message);
  });
  return errors;
}

/** One page with Node-RED's editor, used as a person would, but without waiting for animations. */
export class Editor {
  readonly complaints: string[];

  private constructor(readonly page: Page) {
    this.complaints = collectPageErrors(page);
  }

  static async open(url: string, first: string): Promise<Editor> {
    // A page with a context of its own: nothing of the editor before stays.
    const page = await (await (browser ??= launchBrowser())).newPage({ viewport: { width: 1300, height: 900 } });
    const editor = new Editor(page);
    // Node-RED catches what a dialog throws and writes it to the console.
    page.on('console', (message) => {
      if (/oneditprepare|oneditsave|Definition error|Validation error|TypeError|ReferenceError/.test(message.text()))
        editor.complaints.push(message.text());
    });
    // A dialog slides in and out in a quarter of a second, twice for each operation: what Node-RED waits for then is over at once here.
    await page.addInitScript(() => {
      const real = window.setTimeout.bind(window) as (...given: unknown[]) => number;
      const quick = (work: unknown, ms = 0, ...more: unknown[]): number => real(work, ms > 300 ? ms : 0, ...more);
      window.setTimeout = quick as typeof window.setTimeout;
    });
    await page.goto(url);
    await editor.loaded(first);
    return editor;
  }

  private async loaded(first: string): Promise<void> {
    await this.page.waitForSelector('#red-ui-loading-progress', { state: 'hidden' });
    await this.page.waitForFunction((id) => typeof RED === 'object' && Boolean(RED.nodes?.node(id)), first);
    await this.page.evaluate(() => {
      $.fx.off = true;
      const runs = (revision?: string): void => void Object.assign(globalThis, { running: revision });
      runs();
      RED.comms.subscribe('notification/runtime-deploy', (_topic, { revision }) => runs(revision));
    });
  }

  async reload(first: string): Promise<void> {
    await this.page.reload();
    await this.loaded(first);
  }

  async deploy(): Promise<void> {
    await this.page.evaluate(() => $('#red-ui-header-button-deploy').click());
    // Other tests leave nodes that are not set up: Node-RED asks.
    const confirm = this.page.locator('.red-ui-notification .primary, #red-ui-deploy-dialog-confirm-deploy-deploy');
    await this.page.waitForTimeout(300);
    if ((await confirm.count()) > 0) await confirm.first().click();
    await this.deployed();
  }

  /** Until what was deployed runs. */
  async deployed(): Promise<void> {
    await this.page.waitForFunction(() => !RED.nodes.dirty() && running === RED.nodes.version());
  }

  async openNode(id: string, opensMoreFields = true): Promise<void> {
    await this.page.evaluate((nodeId) => {
      const node = RED.nodes.node(nodeId);
      if (node?._def.category === 'config') RED.editor.editConfig('', node.type, nodeId);
      else RED.editor.edit(node);
    }, id);
    // Playwright's own selectors take three times as long on a page of this size.
    await this.page.waitForFunction(() => document.querySelector('.red-ui-tray .red-ui-tray-body .gateway-form')?.checkVisibility());
    if (opensMoreFields) await this.openMoreFields();
  }

  /** Opens the fold with the fields beyond the first five, so that tests can use them. */
  private async openMoreFields(): Promise<void> {
    await this.page.evaluate(() =>
      document.querySelectorAll('details.gateway-more-fields').forEach((fold) => fold.setAttribute('open', '')),
    );
  }

  async done(): Promise<void> {
    await this.page.evaluate(() => $('#node-dialog-ok, #node-config-dialog-ok').last().click());
    await this.closed();
  }

  async cancel(): Promise<void> {
    await this.page.evaluate(() => $('#node-dialog-cancel, #node-config-dialog-cancel').last().click());
    await this.closed();
  }

  /** Closes what a test that failed has left open, so that the next one fails for reasons of its own. */
  async leave(): Promise<void> {
    const trays = this.page.locator('.red-ui-tray');
    for (let tries = 0; tries < 10 && (await trays.count()) > 0; tries++) {
      await this.page.evaluate(() => $('.red-ui-tray-toolbar [id$="-cancel"]').last().click());
      // One below another takes no click while that slides out.
      await this.page.waitForTimeout(300);
    }
  }

  private async closed(): Promise<void> {
    await this.page.waitForFunction(() => document.querySelector('.red-ui-tray') === null);
  }

  /** Sets a typed input as its menus do. */
  async set(selector: string, type: string, value?: string): Promise<void> {
    await this.page.evaluate(
      ([at, newType, newValue]) => {
        $(at as string).typedInput('type', newType);
        if (newValue !== undefined) $(at as string).typedInput('value', newValue);
      },
      [selector, type, value],
    );
  }

  async setField(name: string, { type, value }: Entry): Promise<void> {
    await this.set(`#gateway-field-${name}`, type, value);
  }

  /** Sets several fields at once. */
  async setFields(entries: Record<string, Entry>): Promise<void> {
    await this.page.evaluate((given) => {
      for (const [name, { type, value }] of Object.entries(given)) {
        $(`#gateway-field-${name}`).typedInput('type', type);
        $(`#gateway-field-${name}`).typedInput('value', value);
      }
    }, entries);
  }

  /** What several fields show. */
  async fields(names: readonly string[]): Promise<Record<string, Entry>> {
    return this.page.evaluate(
      (given) =>
        Object.fromEntries(
          given.map((name) => {
            const input = $(`#gateway-field-${name}`);
            return [name, { type: input.typedInput('type'), value: input.typedInput('value') }];
          }),
        ),
      [...names],
    );
  }

  async field(name: string): Promise<Entry> {
    return this.page.evaluate((at) => ({ type: $(at).typedInput('type'), value: $(at).typedInput('value') }), `#gateway-field-${name}`);
  }

  async chooseOperation(value: string, type = 'op'): Promise<void> {
    await this.set('#node-input-operation', type, value);
    await this.openMoreFields();
  }

  /** Sets a plain input, select or checkbox. */
  async input(id: string, value: string | boolean): Promise<void> {
    await this.page.evaluate(
      ([at, newValue]) => {
        const element = $(`#${String(at)}`);
        if (typeof newValue === 'boolean') element.prop('checked', newValue);
        else element.val(newValue);
        element.trigger('change');
      },
      [id, value],
    );
  }

  /** Names of the field rows that are to be seen. */
  async shownFields(): Promise<string[]> {
    return this.page.evaluate(() =>
      [...document.querySelectorAll('.gateway-field')]
        .filter((row) => row.checkVisibility())
        .map((row) => row.getAttribute('data-field') ?? ''),
    );
  }

  async text(selector: string): Promise<string> {
    return (await this.page.$eval(selector, (element) => element.textContent ?? '')).trim();
  }

  async visible(selector: string): Promise<boolean> {
    return this.page.$eval(selector, (element) => element.checkVisibility());
  }

  /** What is wrong with the field, as its row says. */
  async complaint(field: string): Promise<string> {
    return this.text(`[data-field="${field}"] .gateway-error`);
  }

  /** What a screen reader says of each control of the open form: its role and its name. */
  async controls(): Promise<string[]> {
    const session = await this.page.context().newCDPSession(this.page);
    const { root } = await session.send('DOM.getDocument');
    const { nodeId } = await session.send('DOM.querySelector', { nodeId: root.nodeId, selector: '.gateway-form' });
    const { nodes } = await session.send('Accessibility.queryAXTree', { nodeId });
    await session.detach();
    const roles = ['button', 'checkbox', 'combobox', 'DisclosureTriangle', 'link', 'listbox', 'searchbox', 'spinbutton', 'textbox'];
    return nodes.flatMap(({ ignored, role, name }) =>
      !ignored && roles.includes(String(role?.value)) ? [`${String(role?.value)} ${String(name?.value)}`] : [],
    );
  }

  /** Elements of the open form that stick out of it. */
  async overflowing(): Promise<string[]> {
    return this.page.evaluate(() => {
      const elements = [...document.querySelectorAll('.gateway-form *')];
      const edge = (elements[0]?.closest('form')?.getBoundingClientRect().right ?? 0) + 1;
      return elements
        .filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > edge)
        .map((element) => element.id || (element.getAttribute('class') ?? ''));
    });
  }

  /** The node as a deploy would send it. */
  async exported(id: string): Promise<FlowNode> {
    const json = await this.page.evaluate(
      (nodeId) => JSON.stringify(RED.nodes.createCompleteNodeSet().find((node) => node.id === nodeId)),
      id,
    );
    return JSON.parse(json) as FlowNode;
  }

  async verdict(id: string): Promise<{ valid: boolean; errors: string[]; ports: unknown }> {
    return this.page.evaluate((nodeId) => {
      const node = RED.nodes.node(nodeId);
      return { valid: node?.valid ?? false, errors: node?.validationErrors ?? [], ports: node?.inputs };
    }, id);
  }

  async wire(from: string, port: number, to: string): Promise<void> {
    await this.page.evaluate(
      ([source, sourcePort, target]) => RED.nodes.addLink({ source: RED.nodes.node(source), sourcePort, target: RED.nodes.node(target) }),
      [from, port, to] as const,
    );
  }

  async portLabels(id: string): Promise<string[]> {
    return this.page.evaluate((nodeId) => {
      const node = RED.nodes.node(nodeId);
      return [0, 1, 2].map((index) => node?._def.outputLabels.call(node, index) ?? '');
    }, id);
  }

  /** Whether there is something to deploy. */
  async dirty(): Promise<boolean> {
    return this.page.evaluate(() => RED.nodes.dirty());
  }

  async undo(): Promise<void> {
    await this.page.evaluate(() => RED.history.pop());
  }

  async redo(): Promise<void> {
    await this.page.evaluate(() => RED.history.redo());
  }

  /** Configuration nodes that no node refers to; without `any` those that a deploy offers to delete. */
  async unused(any = false): Promise<string[]> {
    return this.page.evaluate((all) => {
      const found: string[] = [];
      RED.nodes.eachConfig((node) => {
        if (node.users.length === 0 && (all || node._def.hasUsers !== false)) found.push(node.id);
      });
      return found;
    }, any);
  }

  async remove(id: string): Promise<void> {
    await this.page.evaluate((nodeId) => {
      RED.view.select({ nodes: [RED.nodes.node(nodeId)] });
      RED.actions.invoke('core:delete-selection');
    }, id);
  }

  /** A copy of the node, as it is pasted. */
  async copied(id: string): Promise<FlowNode> {
    const copy = await this.page.evaluate((nodeId) => {
      const nodes = RED.nodes.createExportableNodeSet([RED.nodes.node(nodeId)]);
      RED.view.importNodes(JSON.parse(JSON.stringify(nodes)) as unknown[], { generateIds: true, addFlow: false, touchImport: true });
      return RED.view.selection().nodes?.[0]?.id ?? '';
    }, id);
    return this.exported(copy);
  }

  async import(nodes: unknown[]): Promise<void> {
    await this.page.evaluate((list) => RED.nodes.import(list), nodes);
  }

  async close(): Promise<void> {
    await this.page.close();
  }
}
