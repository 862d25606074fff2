import { loginProofField } from '../change/lock-out';
import { defineArea, objectField, defineOperation, requiredField, payloadField, textField } from '../model/operation';
import { encodedPath } from '../model/path';
import { type JsonObject } from '../model/json';
import { withBooleanTexts } from '../model/json-text';

const realmField = requiredField(textField('Realm', 'Name of the admin realm.', { example: 'Admin Users', names: 'admin-realm' }));
const sourceIpPath = (realm: string): string =>
  encodedPath`/api/v1/configuration/administrators/admin-realms/realm/${realm}/authentication-policy/source-ip`;

const REALM_PATH = '/api/v1/configuration/administrators/admin-realms/realm/Admin%20Users';
const exampleRules: JsonObject = {
  'user-selects-role': 'false',
  'user-selects-roleset': 'false',
  rule: [
    {
      name: 'Operators',
      roles: ['.Read-Only Administrators'],
      'stop-rules-processing': 'true',
      group: { 'group-names': ['VPN Operators'] },
    },
  ],
};

/** Admin realms and roles (appliance-api.md, "Admin realm objects"). */
export const administratorsArea = defineArea({
  name: 'administrators',
  label: 'Gateway administrators',
  help: 'Sets from where administrators may sign in, which role they get, and how long their sessions last.',
  icon: 'gateway-administrators.svg',
  color: '#83B9A5',
  operations: {
    'set-source-ip-mode': defineOperation({
      effect: 'destroy',
      label: 'Set the source address mode',
      help: 'Sets the addresses from which administrators may sign in. Add the address of Node-RED and your own first: `selected-ip` locks out all others.',
      summary: {
        done: 'Set the source address mode of __realm__ to __customized__.',
        'planned-one': 'Would set the source address mode of __realm__ to __customized__.',
      },
      data: 'result',
      fields: {
        realm: realmField,
        customized: payloadField(
          requiredField(
            textField('Mode', 'The mode; `selected-ip` admits only the addresses that were added.', {
              example: 'selected-ip',
              known: ['any-ip', 'selected-ip'],
            }),
          ),
        ),
        'prove-login': loginProofField,
      },
      request: ({ realm, customized }) => ({ method: 'PUT', path: `${sourceIpPath(realm)}/customized`, body: { customized } }),
      example: {
        input: { realm: 'Admin Users', customized: 'selected-ip' },
        request: `PUT ${REALM_PATH}/authentication-policy/source-ip/customized`,
        body: { customized: 'selected-ip' },
      },
    }),
    'add-source-ip': defineOperation({
      effect: 'write',
      label: 'Add a source address',
      help: 'Adds one address or network to the list that the mode `selected-ip` uses.',
      summary: {
        done: 'Added the source address __address__ to __realm__.',
        'planned-one': 'Would add the source address __address__ to __realm__.',
      },
      data: 'result',
      fields: {
        realm: realmField,
        access: textField('Access', 'Whether administrators from this address may sign in.', {
          default: 'allow',
          known: ['allow', 'deny'],
        }),
        address: payloadField(
          requiredField(textField('Address', 'Address of the host or network.', { example: '198.51.100.0', rule: 'address' })),
        ),
        netmask: requiredField(
          textField('Netmask', 'Netmask of the network; 255.255.255.255 for one host.', {
            example: '255.255.255.0',
            rule: 'mask',
          }),
        ),
        'prove-login': loginProofField,
      },
      request: ({ realm, access, address, netmask }) => ({
        method: 'POST',
        path: `${sourceIpPath(realm)}/ips/ip`,
        body: { access, address, netmask },
      }),
      example: {
        input: { realm: 'Admin Users', address: '198.51.100.0', netmask: '255.255.255.0' },
        request: `POST ${REALM_PATH}/authentication-policy/source-ip/ips/ip`,
        body: { access: 'allow', address: '198.51.100.0', netmask: '255.255.255.0' },
      },
    }),
    'set-role-mapping': defineOperation({
      effect: 'destroy',
      label: 'Set the role mapping',
      help: 'Replaces all role-mapping rules of an admin realm.',
      summary: { done: 'Set the role mapping of __realm__.', 'planned-one': 'Would set the role mapping of __realm__.' },
      data: 'result',
      fields: {
        realm: realmField,
        rules: payloadField(
          requiredField(objectField('Rules', 'The complete role-mapping object with its rules.', { example: exampleRules })),
        ),
        'prove-login': loginProofField,
      },
      request: ({ realm, rules }) => ({
        method: 'PUT',
        path: encodedPath`/api/v1/configuration/administrators/admin-realms/realm/${realm}/role-mapping-rules`,
        body: withBooleanTexts(rules),
      }),
      example: {
        input: { realm: 'Admin Users', rules: exampleRules },
        request: `PUT ${REALM_PATH}/role-mapping-rules`,
        body: exampleRules,
      },
    }),
    'set-session-options': defineOperation({
      effect: 'write',
      label: 'Set session options',
      help: 'Sets how long the session of an administrator may be idle. The limit also applies to API keys of that role.',
      summary: { done: 'Set the session options of __role__.', 'planned-one': 'Would set the session options of __role__.' },
      data: 'result',
      fields: {
        role: requiredField(
          textField('Role', 'Name of the admin role; a leading dot is part of it.', {
            example: '.Administrators',
            names: 'admin-role',
          }),
        ),
        'idle-timeout': payloadField(
          requiredField(
            textField('Idle timeout', 'Idle time after which a session ends, in the unit that the pages of the appliance show.', {
              example: '20',
              numberPayload: true,
            }),
          ),
        ),
        'max-timeout': textField('Max session time', 'Time after which a session always ends, in the same unit.'),
        'reminder-time': textField('Reminder', 'Time before the end at which the administrator is reminded.'),
        'prove-login': loginProofField,
      },
      request: ({ role, 'prove-login': _prove, ...options }) => ({
        method: 'PUT',
        path: encodedPath`/api/v1/configuration/administrators/admin-roles/admin-role/${role}/general/session-options`,
        body: options,
      }),
      example: {
        input: { role: '.Administrators', 'idle-timeout': '20' },
        request: 'PUT /api/v1/configuration/administrators/admin-roles/admin-role/%2EAdministrators/general/session-options',
        body: { 'idle-timeout': '20' },
      },
    }),
  },
});
