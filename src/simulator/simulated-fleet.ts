import { selfSigned } from './certificate';
import type { SimulatorOptions } from './options';
import type { Simulator } from './simulator';

/** Many appliances in one process, each with its own name, serial number, state and request log. */
export interface SimulatedFleet {
  /** In order: `vpn-001`, `vpn-002` … */
  readonly appliances: readonly Simulator[];
  /** PEM of the one certificate that all of them show. */
  readonly ca: string;
  /** Entries of an inventory, with the tags `even` and `odd` alternately. */
  readonly entries: readonly { name: string; url: string; tags: string[] }[];
  getAppliance(name: string): Simulator;
  close(): Promise<void>;
}

/** Length of the request log of each appliance. */
const FLEET_JOURNAL_LIMIT = 1000;

/** Starts many appliances. They share one certificate, because its creation is slow. Few sessions by default. */
export async function createSimulatedFleet(
  count: number,
  start: (options: SimulatorOptions) => Promise<Simulator>,
  options: SimulatorOptions = {},
): Promise<SimulatedFleet> {
  const tls = options.tls ?? selfSigned();
  const digits = Math.max(3, String(count).length);
  const names = Array.from({ length: count }, (_, index) => `vpn-${String(index + 1).padStart(digits, '0')}`);
  const settled = await Promise.allSettled(
    names.map((name) => start({ sessions: 2, journalLimit: FLEET_JOURNAL_LIMIT, ...options, name, tls })),
  );
  const appliances = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const close = async (): Promise<void> => void (await Promise.all(appliances.map((one) => one.close())));
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed) {
    await close();
    throw failed.reason;
  }
  const byName = new Map(names.map((name, index) => [name, appliances[index]]));
  return {
    appliances,
    ca: tls.cert,
    entries: appliances.map(({ url }, index) => ({ name: names[index] ?? '', url, tags: [index % 2 === 0 ? 'odd' : 'even'] })),
    getAppliance: (name) => {
      const found = byName.get(name);
      if (!found) throw new Error(`There is no appliance ${name} in this fleet.`);
      return found;
    },
    close,
  };
}
