import { areas, operations } from '../../src/areas';
import {
  defineArea,
  numberField,
  defineOperation,
  requiredField,
  payloadField,
  textField,
  type Area,
  type Operation,
} from '../../src/model/operation';
import { encodedPath } from '../../src/model/path';

const USERS = encodedPath`/api/v1/configuration/authentication/auth-servers/auth-server/${'System Local'}/local/users/user`;

const extra = defineArea({
  name: 'extra',
  label: 'Extra',
  help: '',
  icon: '',
  color: '',
  operations: {
    create: defineOperation({
      effect: 'write',
      label: 'Create',
      help: '',
      data: 'result',
      fields: {
        username: payloadField(requiredField(textField('User', ''))),
        'password-cleartext': textField('Password', '', { secret: true }),
      },
      request: (body) => ({ method: 'POST', path: USERS, body }),
      example: { input: {}, request: '' },
    }),
    count: defineOperation({
      effect: 'write',
      label: 'Count',
      help: '',
      data: 'result',
      fields: { n: payloadField(requiredField(numberField('Number', ''))) },
      request: (body) => ({ method: 'PUT', path: USERS, body }),
      example: { input: {}, request: '' },
    }),
  },
});

/** Adds an area that nobody knows but the registry, with a secret field: its node must appear by itself. The returned function removes it. */
export function addExtraArea(): () => void {
  const registry = areas as Area[];
  const named = operations as Map<string, Operation>;
  registry.push(extra);
  for (const [name, operation] of Object.entries(extra.operations)) named.set(`extra.${name}`, operation);
  return () => {
    registry.splice(registry.indexOf(extra), 1);
    for (const name of Object.keys(extra.operations)) named.delete(`extra.${name}`);
  };
}
