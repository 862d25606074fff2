import { GatewayError } from '../model/error';
import { isObject, readSwitchValue, type JsonObject } from '../model/json';
import type { ClusterEvent, ClusterMemberState } from './events';
import { WholeStateTracker, type CheckSummary } from './tracker';

const VIPS = ['external', 'internal'] as const;
type Vip = (typeof VIPS)[number];

interface Cluster {
  readonly members: Readonly<Record<string, ClusterMemberState>>;
  readonly owners: { readonly [vip in Vip]?: string };
}

/** The data of an appliance without a cluster, which responds with 404. */
export const NO_CLUSTER_STATE: JsonObject = { members: [] };

/** Reports changes of the members, their states and the owners of the virtual addresses. */
export class ClusterTracker extends WholeStateTracker<Cluster, ClusterEvent, JsonObject> {
  protected compare(data: JsonObject, previous: Cluster | undefined): { state: Cluster; events: ClusterEvent[]; summary: CheckSummary } {
    const state = parseCluster(data);
    const summary: CheckSummary = { key: 'members', n: Object.keys(state.members).length };
    return { state, summary, events: previous ? [...compareMembers(previous, state), ...compareVipOwners(previous, state)] : [] };
  }

  protected isState(saved: unknown): saved is Cluster {
    return isObject(saved) && isObject(saved.members) && isObject(saved.owners) && Object.values(saved.members).every(isObject);
  }
}

function parseCluster(data: JsonObject): Cluster {
  // A single member can come without an array.
  const list = isObject(data.members) ? [data.members] : data.members;
  if (!Array.isArray(list)) throw new GatewayError('BAD_RESPONSE', 'The response of the appliance is not a cluster.', { sent: true });
  const members = Object.fromEntries(
    list.filter(isObject).map((member): [string, ClusterMemberState] => [
      String(member.name),
      {
        enabled: readSwitchValue(member.enabled) === true,
        notes: toText(member.notes),
        'status-code': toText(member['status-code']),
      },
    ]),
  );
  const owners = VIPS.map((vip) => [vip, data[`${vip}-vip-owner`]] as const).filter(
    ([, owner]) => typeof owner === 'string' && owner !== '',
  );
  return { members, owners: Object.fromEntries(owners) };
}

function compareMembers(previous: Cluster, current: Cluster): ClusterEvent[] {
  const removed = Object.entries(previous.members).filter(([name]) => !Object.hasOwn(current.members, name));
  const events = removed.map(([name, member]): ClusterEvent => ({ event: 'left', name, before: member }));
  for (const [name, member] of Object.entries(current.members)) {
    const old = Object.hasOwn(previous.members, name) ? previous.members[name] : undefined;
    if (!old) events.push({ event: 'joined', name, after: member });
    else if (JSON.stringify(old) !== JSON.stringify(member)) events.push({ event: 'member', name, before: old, after: member });
  }
  return events;
}

/** A failover moves both virtual addresses, which is one event. */
function compareVipOwners(previous: Cluster, current: Cluster): ClusterEvent[] {
  const events: { event: 'owner'; before: string; after: string; addresses: Vip[] }[] = [];
  for (const vip of VIPS) {
    const [before, after] = [previous.owners[vip], current.owners[vip]];
    if (before === undefined || after === undefined || before === after) continue;
    const same = events.find((event) => event.before === before && event.after === after);
    if (same) same.addresses.push(vip);
    else events.push({ event: 'owner', before, after, addresses: [vip] });
  }
  return events;
}

function toText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
