import { postJson, type ApiResult } from '../api';
import type { SidebarAppliance } from './types';

/** The state that all parts of the sidebar share. */
export class SidebarContext {
  /** Collapsible sections that the user opened. */
  readonly openFolds = new Set<string>();
  /** Cards that the user opened or closed. */
  readonly cards = new Map<string, boolean>();
  /** An outcome with its plan, while the undo waits for a confirmation. */
  pendingUndo: { readonly key: string; readonly summary: string; readonly plan: readonly { method: string; path: string }[] } | undefined;
  /** Messages by appliance. */
  readonly messages = new Map<string, string>();
  readonly busy = new Set<string>();

  /** `redraw` shows the known state; `reload` first reads it from the runtime. */
  constructor(
    readonly node: RedNode,
    readonly redraw: () => void,
    readonly reload: () => void,
  ) {}

  readonly text = (key: string, values?: Record<string, unknown>): string => this.node._(key, values);

  get mayWrite(): boolean {
    return RED.user.hasPermission('gateway-appliance.write');
  }

  /** Calls a route for an appliance. A failure becomes the message of its card. */
  async call(appliance: SidebarAppliance, route: string, body: Record<string, unknown>): Promise<ApiResult> {
    const key = toApplianceKey(appliance);
    this.messages.delete(key);
    this.busy.add(`${key} ${route}`);
    this.redraw();
    const answer = await postJson(this.node, `gateway-appliance/${route}`, { ...toReference(appliance), ...body });
    this.busy.delete(`${key} ${route}`);
    if (!answer.ok) this.messages.set(key, answer.message);
    this.reload();
    return answer;
  }
}

export const toApplianceKey = ({ id, inventory = '', name }: SidebarAppliance): string => id ?? `${inventory}/${name}`;

function toReference({ id, inventory, name }: SidebarAppliance): Record<string, unknown> {
  return id === undefined ? { inventory, name } : { id };
}
