import type { SelectedOperation } from '../message/operation-selector';

/** Whether what was asked for goes out in parts. */
export function isStreaming({ operation }: SelectedOperation, { emit }: Record<string, unknown>): boolean {
  return (emit === 'page' || emit === 'record') && Object.hasOwn(operation.fields, 'emit');
}

/** What a message wants cancelled: everything, or what runs for the message of that `_msgid`. */
export function readCancel(cancel: unknown): true | string | undefined {
  if (cancel === true) return true;
  // The texts are a slip: as the name of a message they would cancel nothing, without a word.
  return typeof cancel === 'string' && cancel !== '' && !/^(true|false)$/i.test(cancel) ? cancel : undefined;
}

/** What the operation did not use of its items, and the node of the payload around them. */
export function mergeIgnored(operationIgnored: unknown, payloadIgnored: readonly string[]): string[] {
  return [...new Set([...(Array.isArray(operationIgnored) ? (operationIgnored as string[]) : []), ...payloadIgnored])];
}
