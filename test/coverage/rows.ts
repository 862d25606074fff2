import { operations } from '../../src/areas';
import type { Operation } from '../../src/model/operation';
import { result, type Row } from './row';
import { serviceRows } from './service-rows';
import { transferRows } from './transfer-rows';
import { treeRows } from './tree-rows';

const typedOff: readonly Row[] = [...treeRows, ...serviceRows, ...transferRows];

/** The one row that an operation's example shows; what the example has in its path may be any name. */
function rowOf(name: string, { effect, example: { input, request, body } }: Operation): Row {
  const [method = '', target = ''] = request.split(' ');
  const [path = '', query] = target.split('?');
  const named = Object.values(input).map((value) => encodeURIComponent(String(value)));
  return {
    method: method as Row['method'],
    path: path
      .split('/')
      .map((segment) => (named.includes(segment) ? '<name>' : segment))
      .join('/'),
    ...(query !== undefined && { query: /./ }),
    ...(body && { body: { keys: 'any' as const } }),
    statuses: [200],
    ...(effect !== 'read' && { answer: result('done') }),
    operations: [name],
  };
}

/** Operations beyond appliance-api.md, as whoever extends the package adds them: those that it knows are held to what was typed off. */
const beyond = [...operations].filter(
  ([name, { request }]) => request && !name.startsWith('login.') && !typedOff.some((row) => row.operations.includes(name)),
);

export type { Row };
export const rows: readonly Row[] = [...typedOff, ...beyond.map(([name, operation]) => rowOf(name, operation))];
