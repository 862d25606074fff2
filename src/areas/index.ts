import type { Area, Fields, Operation, OperationEffect, RawInput } from '../model/operation';
import type { OperationInputs } from './operation-inputs';
import { badInput } from '../model/error';
import { administratorsArea } from './administrators';
import { createAuditArea } from './audit';
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

/** The only registry: every area in this list gets a node, a dialog, help, documentation and tests. */
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
  createAuditArea(listEffects),
  journalArea,
  requestArea,
  loginArea,
] as const;

/** All areas, without the types of their operations. */
export const areas: readonly Area[] = allAreas;

/** All operations by their full names, such as `sessions.list`. */
export const operations: ReadonlyMap<string, Operation> = new Map(
  areas.flatMap((area) => Object.entries(area.operations).map(([name, operation]) => [`${area.name}.${name}`, operation] as const)),
);

/** The effect of each operation by its full name. */
function listEffects(): ReadonlyMap<string, OperationEffect> {
  return new Map([...operations].map(([name, { effect }]) => [name, effect] as const));
}

type OperationsByArea = { readonly [A in (typeof allAreas)[number] as A['name']]: A['operations'] };

export type { OperationInputs } from './operation-inputs';

/** Full name of an operation, such as `sessions.list`. */
export type OperationName = { [A in keyof OperationsByArea]: `${A}.${keyof OperationsByArea[A] & string}` }[keyof OperationsByArea];

type OperationByName<N extends OperationName> = N extends `${infer A extends keyof OperationsByArea}.${infer O}`
  ? OperationsByArea[A][O & keyof OperationsByArea[A]]
  : never;

/** The input of the operation with the full name `N`. */
export type OperationInput<N extends OperationName> = N extends keyof OperationInputs ? OperationInputs[N] : InferredInput<N>;

/** The input as the fields of the operation define it. */
export type InferredInput<N extends OperationName> = OperationByName<N> extends Operation<infer F> ? RawInput<F> : never;

/** The data that the operation with the full name `N` returns. */
export type OperationData<N extends OperationName> = OperationByName<N> extends Operation<Fields, infer D> ? D : never;

/** Returns the operation with a full name. Errors: `BAD_INPUT` with the known names of the area. */
export function getOperation(name: string): Operation {
  const operation = operations.get(name);
  if (operation) return operation;
  const area = name.split('.')[0] ?? '';
  const sameAreaNames = [...operations.keys()].filter((known) => known.startsWith(`${area}.`));
  throw badInput(
    safeMessage`There is no operation ${JSON.stringify(name)}. Use one of: ${trusted((sameAreaNames.length > 0 ? sameAreaNames : [...operations.keys()]).join(', '))}.`,
  );
}
