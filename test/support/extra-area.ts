import { areas, operations } from '../../src/areas';
import { area, number, op, required, subject, text, type Area, type Operation } from '../../src/model/operation';
import { at } from '../../src/model/path';

const USERS = at`/api/v1/configuration/authentication/auth-servers/auth-server/${'System Local'}/local/users/user`;

const extra = area({
  name: 'extra',
  label: 'Extra',
  help: '',
  icon: '',
  color: '',
  operations: {
    create: op({
      effect: 'write',
      label: 'Create',
      help: '',
      data: 'result',
      fields: { username: subject(required(text('User', ''))), 'password-cleartext': text('Password', '', { secret: true }) },
      request: (body) => ({ method: 'POST', path: USERS, body }),
      example: { input: {}, request: '' },
    }),
    count: op({
      effect: 'write',
      label: 'Count',
      help: '',
      data: 'result',
      fields: { n: subject(required(number('Number', ''))) },
      request: (body) => ({ method: 'PUT', path: USERS, body }),
      example: { input: {}, request: '' },
    }),
  },
});

/** Adds an area that nobody knows but the registry, with a secret field: its node has to appear by itself. Undo it with what comes back. */
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
