import { type JsonObject, type Shape, address, checkBody, filledText, oneOf, required, textOf } from './fields';
import { type Reply, Refusal, info, json, namedError } from './reply';
import type { Call, Router } from './router';
import { type ClusterState, LEADER, type Member, UNREACHABLE, member } from './state/cluster';

/** The cluster and its members (appliance-api.md, "Cluster" in both sections, and "States and transitions"). */
function clusterOf(call: Call): ClusterState {
  const { cluster } = call.state;
  if (!cluster) throw new Refusal(404, 'The cluster does not exist: this node is not a member of one.');
  return cluster;
}

function get(call: Call): Reply {
  const cluster = clusterOf(call);
  const passive = cluster.mode === 'Active/Passive';
  const members = cluster.members.map(({ externalMask, ...rest }): JsonObject => ({
    ...rest,
    [passive ? 'external-netmask' : 'external-network']: externalMask,
  }));
  const vips = {
    'external-vip-ipv4': '203.0.113.100',
    'internal-vip-ipv4': '10.10.0.100',
    'external-vip-owner': cluster.vipOwner,
    'internal-vip-owner': cluster.vipOwner,
  };
  return json({ name: cluster.name, mode: cluster.mode, members, ...(passive ? vips : {}) });
}

const CREATE: Shape = {
  action: required(filledText),
  'cluster-name': required(filledText),
  'cluster-password': required(filledText),
  'member-name': required(filledText),
};
const JOIN: Shape = {
  action: required(filledText),
  'cluster-name': required(filledText),
  'cluster-password': required(filledText),
  'member-address': required(address),
};
const FAILOVER: Shape = { action: required(oneOf('vip-failover')) };

function enter(call: Call, shape: Shape, members: () => Member[], message: string): Reply {
  checkBody(call.body, shape);
  if (call.state.cluster) throw new Refusal(422, 'This node is already a member of a cluster.');
  const all = members();
  call.state.cluster = {
    name: textOf(call.body, 'cluster-name'),
    mode: 'Active/Active',
    members: all,
    vipOwner: all[0]?.name ?? '',
  };
  return info(call.state.variants, 200, message);
}

function failover(call: Call): Reply {
  checkBody(call.body, FAILOVER);
  const { cluster, variants } = call.state;
  if (cluster?.mode !== 'Active/Passive')
    return namedError('The node is not part of an Active-Passive cluster and the operation is invalid.', variants);
  const other = cluster.members.find((candidate) => candidate.name !== cluster.vipOwner && candidate.enabled);
  if (!other) throw new Refusal(422, 'There is no other member to take over the VIP.');
  cluster.vipOwner = other.name;
  return info(variants, 200, 'VIP fail-over initiated.');
}

function put(call: Call): Reply {
  const own = (name: string): Member => member(name, '10.10.0.10', '203.0.113.10', LEADER);
  switch (textOf(call.body, 'action')) {
    case 'create':
      return enter(call, CREATE, () => [own(textOf(call.body, 'member-name'))], 'Created cluster successfully.');
    case 'join': {
      const leader = (): Member => member('member-1', textOf(call.body, 'member-address'), '203.0.113.20', LEADER);
      return enter(
        call,
        JOIN,
        () => [leader(), { ...own(call.state.settings.name), notes: '', 'status-code': '0x0' }],
        'Joined cluster successfully.',
      );
    }
    case 'vip-failover':
      return failover(call);
    default:
      throw new Refusal(422, 'Validation failed: action must be one of create, join, vip-failover');
  }
}

const ADDRESSES = [
  'member-ip',
  'member-netmask',
  'member-gateway',
  'member-external-ip',
  'member-external-netmask',
  'member-external-gateway',
];
const MEMBER: Shape = { 'member-name': required(filledText), ...Object.fromEntries(ADDRESSES.map((name) => [name, required(address)])) };

function addMember(call: Call): Reply {
  const cluster = clusterOf(call);
  checkBody(call.body, MEMBER);
  const text = (name: string): string => textOf(call.body, name);
  const name = text('member-name');
  if (cluster.members.some((other) => other.name === name)) throw new Refusal(422, `The member ${name} already exists.`);
  const added = member(name, text('member-ip'), text('member-external-ip'), UNREACHABLE);
  cluster.members.push({ ...added, 'internal-netmask': text('member-netmask'), externalMask: text('member-external-netmask') });
  return info(call.state.variants, 200, 'Added member to cluster successfully.');
}

function removeMember(call: Call): Reply {
  const cluster = clusterOf(call);
  const left = cluster.members.filter((other) => other.name !== call.parameter);
  if (left.length === cluster.members.length) throw new Refusal(404, `The member ${call.parameter} does not exist.`);
  if (cluster.vipOwner === call.parameter) cluster.vipOwner = left[0]?.name ?? '';
  cluster.members = left;
  // The last member takes the cluster with it.
  if (left.length === 0) call.state.cluster = undefined;
  return info(call.state.variants, 200, 'Removed member from cluster successfully.');
}

export function clusterRoutes(router: Router): void {
  router.add('GET', 'cluster', get);
  router.add('PUT', 'cluster', put, { body: 'json' });
  router.add('POST', 'cluster/members', addMember, { body: 'json' });
  router.add('DELETE', 'cluster/members/*', removeMember);
}
