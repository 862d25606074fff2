import type { SelectedOperation } from '../message/operation-selector';

/** Whether the operation sends its result in parts. */
export function isStreamingMessage({ operation }: SelectedOperation, { emit }: Record<string, unknown>): boolean {
  return (emit === 'page' || emit === 'record') && Object.hasOwn(operation.fields, 'emit');
}

/** Returns true to cancel all runs, or the `_msgid` of the run to cancel. */
export function readCancel(cancel: unknown): true | string | undefined {
  if (cancel === true) return true;
  // The texts "true" and "false" are mistakes. As a `_msgid` they would silently cancel nothing.
  return typeof cancel === 'string' && cancel !== '' && !/^(true|false)$/i.test(cancel) ? cancel : undefined;
}

/** Joins the ignored names of the operation's items and of the payload, without duplicates. */
export function mergeIgnoredProperties(operationIgnored: unknown, payloadIgnored: readonly string[]): string[] {
  return [...new Set([...(Array.isArray(operationIgnored) ? (operationIgnored as string[]) : []), ...payloadIgnored])];
}
