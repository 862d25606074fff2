import type { OperationContext } from '../model/operation';

const REPORT_INTERVAL_MS = 250;

/** Reports how many bytes are through, a few times a second. `total` where it is known. */
export function createProgressReporter(call: OperationContext): (bytes: number, total: number | undefined) => void {
  let nextReportAt = 0;
  return (bytes, total) => {
    const now = performance.now();
    if (now < nextReportAt) return;
    nextReportAt = now + REPORT_INTERVAL_MS;
    call.reportProgress({ state: 'transferring', bytes, ...(total !== undefined && { total }) });
  };
}
