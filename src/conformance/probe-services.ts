import { DOCUMENTED_HEALTH, OTHER_DOCUMENTED_READS, type DocumentedRead } from './documented';
import type { ProbeRunner } from './probe-runner';

const REPEATS = 4;

/** Probes health, licenses and cluster. */
export async function probeServices(prober: ProbeRunner): Promise<void> {
  const health = await prober.get(toEndpointTemplate(DOCUMENTED_HEALTH));
  if (health.isSuccess) {
    const { document } = health;
    const cpuKey = ['CPU-UTILIZATION4', 'CPU-UTILIZATION'].find((key) => document[key] !== undefined);
    if (cpuKey !== undefined) prober.found('cpuKey', cpuKey);
    const count = document['USER-COUNT'] ?? document['SWAP-UTILIZATION'];
    if (count !== undefined) prober.found('healthNumbers', typeof count === 'string' ? 'text' : 'number');
    if (document['DISK-UTILIZATION'] !== undefined) prober.found('diskUnknown', Number(document['DISK-UTILIZATION']) === -1);
  }
  for (const read of OTHER_DOCUMENTED_READS) await prober.get(toEndpointTemplate(read));
}

/** Repeats the documented reads that succeeded, to measure their times. Stops when no requests are left. */
export async function measureTimes(prober: ProbeRunner): Promise<void> {
  const succeeded = new Set(prober.toEndpoints().flatMap(({ path, status }) => (status === 200 ? [path] : [])));
  const templates = [DOCUMENTED_HEALTH, ...OTHER_DOCUMENTED_READS].map(toEndpointTemplate).filter((template) => succeeded.has(template));
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    for (const template of templates) {
      if (prober.pacer.remaining === 0) return;
      await prober.get(template);
    }
  }
}

export function toEndpointTemplate({ path, query }: DocumentedRead): string {
  return query === undefined ? path : `${path}?${query}`;
}
