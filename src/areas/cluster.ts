import { allowMissingField } from '../change/if-exists';
import { defineArea, defineOperation, requiredField, payloadField, textField } from '../model/operation';
import { encodedPath } from '../model/path';

const CLUSTER = '/api/v1/cluster';
const clusterNameField = requiredField(textField('Cluster', 'Name of the cluster.', { example: 'Edge' }));
const passwordField = requiredField(textField('Password', 'Password with which members join.', { secret: true }));

const addressField = (label: string, help: string, example: string) => requiredField(textField(label, help, { example, rule: 'ipv4' }));
const netmaskField = (label: string, help: string) => requiredField(textField(label, help, { example: '255.255.255.0', rule: 'netmask' }));

const exampleMember = {
  'member-name': 'node-b',
  'member-ip': '10.0.0.12',
  'member-netmask': '255.255.255.0',
  'member-gateway': '10.0.0.1',
  'member-external-ip': '192.0.2.12',
  'member-external-netmask': '255.255.255.0',
  'member-external-gateway': '192.0.2.1',
};

/** The cluster and its members (appliance-api.md, "Cluster"). */
export const clusterArea = defineArea({
  name: 'cluster',
  label: 'Gateway cluster',
  help: 'Reads the cluster, manages its members and fails the virtual address over.',
  icon: 'gateway-cluster.svg',
  color: '#56BBE6',
  operations: {
    status: defineOperation({
      effect: 'read',
      label: 'Cluster status',
      help: 'Reads the mode, the members with their state, and in Active/Passive mode the owner of the virtual addresses.',
      summary: { done: 'Read the state of the cluster of __appliance__.' },
      data: 'cluster',
      fields: {},
      request: () => ({ method: 'GET', path: CLUSTER }),
      example: { input: {}, request: `GET ${CLUSTER}` },
    }),
    create: defineOperation({
      effect: 'destroy',
      label: 'Create a cluster',
      help: 'Makes this appliance the first member of a new cluster.',
      summary: { done: 'Created the cluster __cluster-name__.', 'planned-one': 'Would create the cluster __cluster-name__.' },
      data: 'result',
      fields: {
        'cluster-name': clusterNameField,
        'cluster-password': passwordField,
        'member-name': requiredField(textField('Member', 'Name of this appliance in the cluster.', { example: 'node-a' })),
      },
      request: (input) => ({ method: 'PUT', path: CLUSTER, body: { ...input, action: 'create' } }),
      example: {
        input: { 'cluster-name': 'Edge', 'cluster-password': 'correct horse', 'member-name': 'node-a' },
        request: `PUT ${CLUSTER}`,
        body: { 'cluster-name': 'Edge', 'cluster-password': 'correct horse', 'member-name': 'node-a', action: 'create' },
      },
    }),
    join: defineOperation({
      effect: 'destroy',
      label: 'Join a cluster',
      help: 'Makes this appliance a member of an existing cluster. The configuration of the cluster replaces its configuration.',
      summary: { done: 'Joined the cluster __cluster-name__.', 'planned-one': 'Would join the cluster __cluster-name__.' },
      data: 'result',
      fields: {
        'cluster-name': clusterNameField,
        'cluster-password': passwordField,
        'member-address': requiredField(
          textField('Member address', 'Address of a member of the cluster.', { example: '10.0.0.11', rule: 'host' }),
        ),
      },
      request: (input) => ({ method: 'PUT', path: CLUSTER, body: { ...input, action: 'join' } }),
      example: {
        input: { 'cluster-name': 'Edge', 'cluster-password': 'correct horse', 'member-address': '10.0.0.11' },
        request: `PUT ${CLUSTER}`,
        body: { 'cluster-name': 'Edge', 'cluster-password': 'correct horse', 'member-address': '10.0.0.11', action: 'join' },
      },
    }),
    'add-member': defineOperation({
      effect: 'write',
      label: 'Add a member',
      help: 'Announces a new member with its internal and external addresses; it can join afterwards.',
      summary: { done: 'Added the member __member-name__.', 'planned-one': 'Would add the member __member-name__.' },
      data: 'result',
      fields: {
        'member-name': requiredField(textField('Member', 'Name of the new member.', { example: 'node-b' })),
        'member-ip': addressField('Internal address', 'Internal address of the member.', '10.0.0.12'),
        'member-netmask': netmaskField('Internal netmask', 'Netmask of the internal network.'),
        'member-gateway': addressField('Internal gateway', 'Gateway of the internal network.', '10.0.0.1'),
        'member-external-ip': addressField('External address', 'External address of the member.', '192.0.2.12'),
        'member-external-netmask': netmaskField('External netmask', 'Netmask of the external network.'),
        'member-external-gateway': addressField('External gateway', 'Gateway of the external network.', '192.0.2.1'),
      },
      request: (body) => ({ method: 'POST', path: `${CLUSTER}/members`, body }),
      example: { input: exampleMember, request: `POST ${CLUSTER}/members`, body: exampleMember },
    }),
    'remove-member': defineOperation({
      effect: 'destroy',
      label: 'Remove a member',
      help: 'Removes a member from the cluster.',
      summary: {
        done: 'Removed the member __member-name__.',
        unchanged: 'The member __member-name__ did not exist.',
        'planned-one': 'Would remove the member __member-name__.',
      },
      data: 'result',
      fields: {
        'member-name': payloadField(
          requiredField(textField('Member', 'Name of the member.', { example: 'node-b', names: 'cluster-member' })),
        ),
        'missing-ok': allowMissingField,
      },
      request: ({ 'member-name': name }) => ({ method: 'DELETE', path: encodedPath`/api/v1/cluster/members/${name}` }),
      example: { input: { 'member-name': 'node-b' }, request: `DELETE ${CLUSTER}/members/node-b` },
    }),
    failover: defineOperation({
      effect: 'destroy',
      label: 'Fail the virtual address over',
      help: 'Moves the virtual addresses to the other member. Only in Active/Passive mode; an Active/Active cluster refuses.',
      summary: {
        done: 'Failed the virtual addresses of __appliance__ over.',
        'planned-one': 'Would fail the virtual addresses of __appliance__ over.',
      },
      data: 'result',
      fields: {},
      request: () => ({ method: 'PUT', path: CLUSTER, body: { action: 'vip-failover' } }),
      example: { input: {}, request: `PUT ${CLUSTER}`, body: { action: 'vip-failover' } },
    }),
  },
});
