import type { Area, Fields, Given, Operation } from '../model/operation';
import { badInput } from '../model/error';
import { administrators } from './administrators';
import { backup } from './backup';
import { certificates } from './certificates';
import { cluster } from './cluster';
import { config } from './config';
import { contain } from './contain';
import { groupsArea } from './groups';
import { journal } from './journal';
import { license } from './license';
import { login } from './login';
import { policy } from './policy';
import { request } from './request';
import { users } from './users';
import { sessions } from './sessions';
import { snapshot } from './snapshot';
import { system } from './system';
import { transfer } from './transfer';
import { ours, sentence } from '../model/sentence';

/** The only registry: what stands here has a node, a dialog, help, a README table and tests. */
const all = [
  config,
  users,
  groupsArea,
  administrators,
  policy,
  sessions,
  license,
  certificates,
  system,
  cluster,
  transfer,
  backup,
  contain,
  snapshot,
  journal,
  request,
  login,
] as const;

/** The same, for whoever needs no more than to go through them. */
export const areas: readonly Area[] = all;

/** All operations under the names that a script uses: `sessions.list`. */
export const operations: ReadonlyMap<string, Operation> = new Map(
  areas.flatMap((area) => Object.entries(area.operations).map(([name, operation]) => [`${area.name}.${name}`, operation] as const)),
);

type ByArea = { readonly [A in (typeof all)[number] as A['name']]: A['operations'] };

/** Full names of all operations: `sessions.list`. */
export type OperationName = { [A in keyof ByArea]: `${A}.${keyof ByArea[A] & string}` }[keyof ByArea];

type Named<N extends OperationName> = N extends `${infer A extends keyof ByArea}.${infer O}` ? ByArea[A][O & keyof ByArea[A]] : never;

/** What may be given to an operation, by its full name. */
export type OperationInput<N extends OperationName> = Named<N> extends Operation<infer F> ? Given<F> : never;

/** What an operation gives, by its full name. */
export type OperationData<N extends OperationName> = Named<N> extends Operation<Fields, infer D> ? D : never;

/** The operation of that full name. Errors: `BAD_INPUT` listing the names that there are. */
export function operationNamed(name: string): Operation {
  const operation = operations.get(name);
  if (operation) return operation;
  const area = name.split('.')[0] ?? '';
  const near = [...operations.keys()].filter((known) => known.startsWith(`${area}.`));
  throw badInput(
    sentence`There is no operation ${JSON.stringify(name)}. There are: ${ours((near.length > 0 ? near : [...operations.keys()]).join(', '))}.`,
  );
}
