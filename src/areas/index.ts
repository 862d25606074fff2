import type { Area, Fields, RawInput, Operation } from '../model/operation';
import { badInput } from '../model/error';
import { administratorsArea } from './administrators';
import { backupArea } from './backup';
import { certificatesArea } from './certificates';
import { clusterArea } from './cluster';
import { configArea } from './config';
import { containArea } from './contain';
import { groupsArea } from './groups';
import { journalArea } from './journal';
import { licenseArea } from './license';
import { loginArea } from './login';
import { policyArea } from './policy';
import { requestArea } from './request';
import { usersArea } from './users';
import { sessionsArea } from './sessions';
import { snapshotArea } from './snapshot';
import { systemArea } from './system';
import { transferArea } from './transfer';
import { trusted, safeMessage } from '../model/safe-message';

/** The only registry: what stands here has a node, a dialog, help, a README table and tests. */
const allAreas = [
  configArea,
  usersArea,
  groupsArea,
  administratorsArea,
  policyArea,
  sessionsArea,
  licenseArea,
  certificatesArea,
  systemArea,
  clusterArea,
  transferArea,
  backupArea,
  containArea,
  snapshotArea,
  journalArea,
  requestArea,
  loginArea,
] as const;

/** The same, for whoever needs no more than to go through them. */
export const areas: readonly Area[] = allAreas;

/** All operations under the names that a script uses: `sessions.list`. */
export const operations: ReadonlyMap<string, Operation> = new Map(
  areas.flatMap((area) => Object.entries(area.operations).map(([name, operation]) => [`${area.name}.${name}`, operation] as const)),
);

type OperationsByArea = { readonly [A in (typeof allAreas)[number] as A['name']]: A['operations'] };

/** Full names of all operations: `sessions.list`. */
export type OperationName = { [A in keyof OperationsByArea]: `${A}.${keyof OperationsByArea[A] & string}` }[keyof OperationsByArea];

type OperationByName<N extends OperationName> = N extends `${infer A extends keyof OperationsByArea}.${infer O}`
  ? OperationsByArea[A][O & keyof OperationsByArea[A]]
  : never;

/** What may be given to an operation, by its full name. */
export type OperationInput<N extends OperationName> = OperationByName<N> extends Operation<infer F> ? RawInput<F> : never;

/** What an operation gives, by its full name. */
export type OperationData<N extends OperationName> = OperationByName<N> extends Operation<Fields, infer D> ? D : never;

/** The operation of that full name. Errors: `BAD_INPUT` listing the names that there are. */
export function getOperation(name: string): Operation {
  const operation = operations.get(name);
  if (operation) return operation;
  const area = name.split('.')[0] ?? '';
  const sameAreaNames = [...operations.keys()].filter((known) => known.startsWith(`${area}.`));
  throw badInput(
    safeMessage`There is no operation ${JSON.stringify(name)}. There are: ${trusted((sameAreaNames.length > 0 ? sameAreaNames : [...operations.keys()]).join(', '))}.`,
  );
}
