import { ensureOneResource } from '../change/ensure';
import { allowMissingField } from '../change/if-exists';
import { defineArea, objectField, defineOperation, requiredField, payloadField, textField } from '../model/operation';
import { encodedPath } from '../model/path';
import { resolveVendor } from './vendor-and-brand';
import { readResourceLinks } from './links';

const UAC = '/api/v1/configuration/uac';
const radiusNameField = requiredField(textField('Client', 'Name of the RADIUS client.', { example: 'Switch 3/1', names: 'radius-client' }));
const radiusClientPath = (name: string): string =>
  encodedPath`/api/v1/configuration/uac/network-access/radius-clients/radius-client/${name}`;
const exampleClient = { name: 'Switch 3/1', 'location-group': 'Default' };
const radiusSettingsField = objectField('Settings', 'The complete RADIUS client: `name` and `location-group`.', { example: exampleClient });

/** The subtree of the policy appliance (appliance-api.md, "Configuration root"). */
export const policyArea = defineArea({
  name: 'policy',
  label: 'Gateway policy',
  help: 'Manages enforcers, RADIUS clients and SNMP clients of the network policy appliance.',
  icon: 'gateway-policy.svg',
  color: '#7AEBE0',
  operations: {
    list: defineOperation({
      effect: 'read',
      label: 'List the policy tree',
      help: 'Lists the `uac` subtree of a policy appliance. A gateway does not have this subtree and responds that it does not exist.',
      summary: { found: '__n__ entries in the policy tree.', 'found-one': '1 entry in the policy tree.' },
      data: 'array of `{ name, href }`; `href` is null where there is only a name',
      fields: {},
      request: () => ({ method: 'GET', path: UAC }),
      read: readResourceLinks,
      example: { input: {}, request: `GET ${UAC}` },
    }),
    'add-enforcer': defineOperation({
      effect: 'write',
      permissions: { reads: '`uac`, if no vendor is set' },
      label: 'Add an enforcer',
      help: 'Adds an enforcer connection. The object is sent unchanged, including its device-OS part.',
      summary: {
        done: 'Added the enforcer __enforcer__ to __appliance__.',
        'planned-one': 'Would add the enforcer __enforcer__ to __appliance__.',
      },
      data: 'result',
      fields: {
        enforcer: payloadField(
          requiredField(
            objectField('Enforcer', 'The complete enforcer connection: `name`, `serial-number` and other fields of the appliance.', {
              example: { name: 'Edge', 'serial-number': ['0123456789'] },
            }),
          ),
        ),
      },
      run: async ({ enforcer }, call) => {
        const element = `${await resolveVendor(call)}-enforcer`;
        return call.write({
          method: 'POST',
          path: encodedPath`/api/v1/configuration/uac/${element}/connections/${element}/`,
          body: enforcer,
        });
      },
      // With a vendor in the settings; otherwise a read of the subtree comes first.
      example: {
        input: { enforcer: { name: 'Edge', 'serial-number': ['0123456789'] } },
        request: `POST ${UAC}/acme-enforcer/connections/acme-enforcer/`,
        body: { name: 'Edge', 'serial-number': ['0123456789'] },
      },
    }),
    'get-radius-client': defineOperation({
      effect: 'read',
      label: 'Get a RADIUS client',
      help: 'Reads one RADIUS client, such as a switch.',
      summary: { done: 'Read the RADIUS client __name__.' },
      data: 'client',
      fields: { name: payloadField(radiusNameField) },
      request: ({ name }) => ({ method: 'GET', path: radiusClientPath(name) }),
      example: { input: { name: 'Switch 3/1' }, request: `GET ${UAC}/network-access/radius-clients/radius-client/Switch%203%2F1` },
    }),
    'set-radius-client': defineOperation({
      effect: 'write',
      label: 'Set a RADIUS client',
      help: 'Creates a RADIUS client or changes the existing one.',
      summary: { done: 'Set the RADIUS client __name__.', 'planned-one': 'Would set the RADIUS client __name__.' },
      data: 'result',
      fields: {
        name: radiusNameField,
        client: payloadField(requiredField(radiusSettingsField)),
      },
      request: ({ name, client }) => ({ method: 'PUT', path: radiusClientPath(name), body: client }),
      example: {
        input: { name: 'Switch 3/1', client: exampleClient },
        request: `PUT ${UAC}/network-access/radius-clients/radius-client/Switch%203%2F1`,
        body: exampleClient,
      },
    }),
    'ensure-radius-client': defineOperation({
      effect: 'write',
      label: 'Ensure a RADIUS client',
      help: 'Sets the given settings of a RADIUS client: the node writes only if the client is missing or a setting differs. `msg.envelope.changed` and `msg.envelope.diff` report the changes.',
      summary: {
        done: 'Gave the RADIUS client __name__ the given settings.',
        unchanged: 'The RADIUS client __name__ already had the given settings.',
        'planned-one': 'Would give the RADIUS client __name__ the given settings.',
        none: 'The RADIUS client __name__ already has the given settings.',
      },
      data: 'client after the change',
      fields: { name: radiusNameField, client: payloadField(requiredField(radiusSettingsField)) },
      run: ({ name, client }, call) =>
        ensureOneResource({ path: radiusClientPath(name), body: (present) => (present ? client : { name, ...client }) }, call),
      example: {
        input: { name: 'Switch 3/1', client: exampleClient },
        request: `GET ${UAC}/network-access/radius-clients/radius-client/Switch%203%2F1`,
      },
    }),
    'delete-snmp-client': defineOperation({
      effect: 'destroy',
      label: 'Delete an SNMP client',
      help: 'Deletes one SNMP enforcement client.',
      summary: {
        done: 'Deleted the SNMP client __name__.',
        unchanged: 'The SNMP client __name__ did not exist.',
        'planned-one': 'Would delete the SNMP client __name__.',
      },
      data: 'result',
      fields: {
        name: payloadField(requiredField(textField('Client', 'Name of the SNMP client.', { example: 'Switch 7', names: 'snmp-client' }))),
        'missing-ok': allowMissingField,
      },
      request: ({ name }) => ({ method: 'DELETE', path: encodedPath`/api/v1/configuration/uac/snmpEnforcement/clients/client/${name}` }),
      example: { input: { name: 'Switch 7' }, request: `DELETE ${UAC}/snmpEnforcement/clients/client/Switch%207` },
    }),
  },
});
