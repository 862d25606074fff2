import { DOCUMENTED_HEALTH, OTHER_DOCUMENTED_READS, type DocumentedRead } from './documented';
import type { Prober } from './prober';

const REPEATS = 4;

/** Probes health, licenses and cluster. */
export async function probeServices(prober: Prober): Promise<void> {
  const health = await prober.get(templateOf(DOCUMENTED_HEALTH));
  if (health.isSuccess) {
    const { document } = health;
    const cpuKey = ['CPU-UTILIZATION4', 'CPU-UTILIZATION'].find((key) => document[key] !== undefined);
    if (cpuKey !== undefined) prober.found('cpuKey', cpuKey);
    const count = document['USER-COUNT'] ?? document['SWAP-UTILIZATION'];
    if (count !== undefined) prober.found('healthNumbers', typeof count === 'string' ? 'text' : 'number');
    if (document['DISK-UTILIZATION'] !== undefined) prober.found('diskUnknown', Number(document['DISK-UTILIZATION']) === -1);
  }
  for (const read of OTHER_DOCUMENTED_READS) await prober.get(templateOf(read));
}

/** Repeats the documented reads that succeeded, to measure their times. Stops when no requests are left. */
export async function measureTimes(prober: Prober): Promise<void> {
  const succeeded = new Set(prober.toEndpoints().flatMap(({ path, status }) => (status === 200 ? [path] : [])));
  const templates = [DOCUMENTED_HEALTH, ...OTHER_DOCUMENTED_READS].map(templateOf).filter((template) => succeeded.has(template));
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    for (const template of templates) {
      if (prober.pacer.remaining === 0) return;
      await prober.get(template);
    }
  }
}

export function templateOf({ path, query }: DocumentedRead): string {
  return query === undefined ? path : `${path}?${query}`;
}
