import { badInput } from '../../src/model/error';
import { parseField } from '../../src/model/input';
import { booleanField } from '../../src/model/operation';
import type { SelectedOperation } from '../message/operation-selector';

const DRY_RUN_FIELD = booleanField('Dry run', '');

/** Whether the operation sends its result in parts. */
export function isStreamingMessage({ operation }: SelectedOperation, { emit }: Record<string, unknown>): boolean {
  return (emit === 'page' || emit === 'record') && Object.hasOwn(operation.fields, 'emit');
}

/** Returns true to cancel all runs, or the `_msgid` of the run to cancel. */
export function readCancelProperty(cancel: unknown): true | string | undefined {
  if (cancel === true) return true;
  // The texts "true" and "false" are mistakes. As a `_msgid` they would silently cancel nothing.
  return typeof cancel === 'string' && cancel !== '' && !/^(true|false)$/i.test(cancel) ? cancel : undefined;
}

/** Checks `msg.cancel`. Errors: `BAD_INPUT` for a value that `readCancelProperty` does not accept. */
export function assertNoCancelProperty(cancel: unknown): void {
  if (cancel !== undefined && cancel !== null && cancel !== false)
    throw badInput('msg.cancel must be true (not text) or the _msgid of the message to cancel. Nothing was canceled.');
}

/** Whether the message asks for a dry run. Errors: `BAD_INPUT` if `msg.dryRun` has an ambiguous value. */
export function isDryRunRequested(dryRun: unknown): boolean {
  return dryRun !== undefined && dryRun !== null && parseField('msg.dryRun', DRY_RUN_FIELD, dryRun) === true;
}

/** Joins the ignored payload properties of an operation and of its items, without duplicates. */
export function mergeIgnoredProperties(operationIgnored: unknown, payloadIgnored: readonly string[]): string[] {
  return [...new Set([...(Array.isArray(operationIgnored) ? (operationIgnored as string[]) : []), ...payloadIgnored])];
}
