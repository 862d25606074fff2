import { badInput } from '../model/error';
import type { Progress } from '../model/operation';
import type { StreamPartInfo, RunState } from './run-state';

/** Announces a stream, as `OperationContext.startStream` describes. */
export function startStream({ options, record }: RunState): void {
  if (!options.onEmit)
    throw badInput('emit asks for parts, but this run has no onPart. Pass onPart, or set emit to "array". Nothing was sent.');
  record.emittedParts = 0;
}

/** Sends one part of a stream, as `OperationContext.emitPart` describes. */
export function emitPart(run: RunState, data: unknown, part: StreamPartInfo): void {
  const { record, options } = run;
  record.emittedParts = (record.emittedParts ?? 0) + 1;
  record.emittedItems += countReturnedRecords(data);
  options.onEmit?.(data, part, run);
}

/** Number of records in a part: those of a page, or one. */
export function countReturnedRecords(part: unknown): number {
  return Array.isArray(part) ? part.length : 1;
}

/** A failing observer must not change the outcome: a part may be done at the appliance already. */
export function reportProgress({ options }: RunState, progress: Progress): void {
  try {
    options.onProgress?.(progress);
  } catch {
    // The observer reports its own errors.
  }
}
