import type { ParsedInput } from '../model/field';
import type { OperationContext } from '../model/operation';
import type { SerializedTree } from './serialized-tree';

/** Performs `snapshot.take` but returns serialized texts. With `previous`, unchanged resources share its memory. */
export function readConfiguration(previous: SerializedTree | undefined) {
  return async (input: ParsedInput, call: OperationContext): Promise<SerializedTree> =>
    (await import('./index.js')).readSerializedTree(input, previous, call);
}
