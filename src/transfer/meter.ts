import type { Call } from '../model/operation';

const INTERVAL_MS = 250;

/** Reports how many bytes are through, a few times a second. `total` where it is known. */
export function meter(call: Call): (bytes: number, total: number | undefined) => void {
  let next = 0;
  return (bytes, total) => {
    const now = performance.now();
    if (now < next) return;
    next = now + INTERVAL_MS;
    call.report({ state: 'moving', bytes, ...(total !== undefined && { total }) });
  };
}
