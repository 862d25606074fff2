import {
  type JsonObject,
  type BodyShape,
  ipv4Field,
  checkBody,
  nonEmptyTextField,
  oneOfField,
  requiredField,
  readText,
} from './body-shape';
import { type Reply, Refusal, infoReply, jsonReply, namedErrorReply } from './reply';
import type { ApiRequest, Router } from './router';
import { type ClusterState, LEADER_STATUS, type ClusterMember, UNREACHABLE_STATUS, createMember } from './state/cluster';

/** The cluster and its members (appliance-api.md, "Cluster" in both sections, and "States and transitions"). */
function getCluster(request: ApiRequest): ClusterState {
  const { cluster } = request.state;
  if (!cluster) throw new Refusal(404, 'The cluster does not exist: this node is not a member of one.');
  return cluster;
}

function get(request: ApiRequest): Reply {
  const cluster = getCluster(request);
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
  return jsonReply({ name: cluster.name, mode: cluster.mode, members, ...(passive ? vips : {}) });
}

const CREATE: BodyShape = {
  action: requiredField(nonEmptyTextField),
  'cluster-name': requiredField(nonEmptyTextField),
  'cluster-password': requiredField(nonEmptyTextField),
  'member-name': requiredField(nonEmptyTextField),
};
const JOIN: BodyShape = {
  action: requiredField(nonEmptyTextField),
  'cluster-name': requiredField(nonEmptyTextField),
  'cluster-password': requiredField(nonEmptyTextField),
  'member-address': requiredField(ipv4Field),
};
const FAILOVER: BodyShape = { action: requiredField(oneOfField('vip-failover')) };

function enterCluster(request: ApiRequest, shape: BodyShape, createMembers: () => ClusterMember[], message: string): Reply {
  checkBody(request.body, shape);
  if (request.state.cluster) throw new Refusal(422, 'This node is already a member of a cluster.');
  const members = createMembers();
  request.state.cluster = {
    name: readText(request.body, 'cluster-name'),
    mode: 'Active/Active',
    members: members,
    vipOwner: members[0]?.name ?? '',
  };
  return infoReply(request.state.variants, 200, message);
}

function failover(request: ApiRequest): Reply {
  checkBody(request.body, FAILOVER);
  const { cluster, variants } = request.state;
  if (cluster?.mode !== 'Active/Passive')
    return namedErrorReply('The node is not part of an Active-Passive cluster and the operation is invalid.', variants);
  const other = cluster.members.find((candidate) => candidate.name !== cluster.vipOwner && candidate.enabled);
  if (!other) throw new Refusal(422, 'There is no other member to take over the VIP.');
  cluster.vipOwner = other.name;
  return infoReply(variants, 200, 'VIP fail-over initiated.');
}

function put(request: ApiRequest): Reply {
  const createOwnMember = (name: string): ClusterMember => createMember(name, '10.10.0.10', '203.0.113.10', LEADER_STATUS);
  switch (readText(request.body, 'action')) {
    case 'create':
      return enterCluster(request, CREATE, () => [createOwnMember(readText(request.body, 'member-name'))], 'Created cluster successfully.');
    case 'join': {
      const leader = (): ClusterMember => createMember('member-1', readText(request.body, 'member-address'), '203.0.113.20', LEADER_STATUS);
      return enterCluster(
        request,
        JOIN,
        () => [leader(), { ...createOwnMember(request.state.settings.name), notes: '', 'status-code': '0x0' }],
        'Joined cluster successfully.',
      );
    }
    case 'vip-failover':
      return failover(request);
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
const MEMBER: BodyShape = {
  'member-name': requiredField(nonEmptyTextField),
  ...Object.fromEntries(ADDRESSES.map((name) => [name, requiredField(ipv4Field)])),
};

function addMember(request: ApiRequest): Reply {
  const cluster = getCluster(request);
  checkBody(request.body, MEMBER);
  const text = (name: string): string => readText(request.body, name);
  const name = text('member-name');
  if (cluster.members.some((other) => other.name === name)) throw new Refusal(422, `The member ${name} already exists.`);
  const added = createMember(name, text('member-ip'), text('member-external-ip'), UNREACHABLE_STATUS);
  cluster.members.push({ ...added, 'internal-netmask': text('member-netmask'), externalMask: text('member-external-netmask') });
  return infoReply(request.state.variants, 200, 'Added member to cluster successfully.');
}

function removeMember(request: ApiRequest): Reply {
  const cluster = getCluster(request);
  const remaining = cluster.members.filter((other) => other.name !== request.parameter);
  if (remaining.length === cluster.members.length) throw new Refusal(404, `The member ${request.parameter} does not exist.`);
  if (cluster.vipOwner === request.parameter) cluster.vipOwner = remaining[0]?.name ?? '';
  cluster.members = remaining;
  // The cluster ends with its last member.
  if (remaining.length === 0) request.state.cluster = undefined;
  return infoReply(request.state.variants, 200, 'Removed member from cluster successfully.');
}

export function addClusterRoutes(router: Router): void {
  router.add('GET', 'cluster', get);
  router.add('PUT', 'cluster', put, { body: 'json' });
  router.add('POST', 'cluster/members', addMember, { body: 'json' });
  router.add('DELETE', 'cluster/members/*', removeMember);
}
