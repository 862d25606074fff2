// The build replaces this file by the value that `getRegistrations` returns, so that a start of Node-RED does not load all operations.
import { areas } from '../src/areas';
import type { Area } from '../src/model/operation';
import { adminRoutes } from './admin';
import type { AdminRoute } from './admin/admin-route';
import { APPLIANCE_CREDENTIALS, APPLIANCE_NODE_TYPE } from './appliance/appliance-node';
import { INVENTORY_CREDENTIALS, INVENTORY_NODE_TYPE } from './inventory/inventory-node';
import { toNodeType } from './node-runtime';
import { WATCH_NODE_TYPE } from './watch/watch-node';

type CredentialTypes = Readonly<Record<string, { type: 'password' | 'text' }>>;

/** What Node-RED must know when it starts. */
interface Registrations {
  /** The credentials of each node type. */
  readonly credentials: Readonly<Record<string, CredentialTypes>>;
  readonly routes: readonly Pick<AdminRoute, 'method' | 'path' | 'permission'>[];
}

export function getRegistrations(): Registrations {
  return {
    credentials: {
      [APPLIANCE_NODE_TYPE]: APPLIANCE_CREDENTIALS,
      [INVENTORY_NODE_TYPE]: INVENTORY_CREDENTIALS,
      ...Object.fromEntries(areas.map((area) => [toNodeType(area), listSecretFields(area)])),
      [WATCH_NODE_TYPE]: {},
    },
    routes: adminRoutes.map(({ method, path, permission }) => ({ method, path, permission })),
  };
}

/** Secret fields of operations are stored as credentials under their field names. */
function listSecretFields(area: Area): CredentialTypes {
  const fields = Object.values(area.operations).flatMap((operation) => Object.entries(operation.fields));
  return Object.fromEntries(fields.filter(([, { secret }]) => secret).map(([name]) => [name, { type: 'password' }]));
}
