import { setTimeout as pause } from 'node:timers/promises';
import { Inventory } from '../../../src';
import { Gateways } from '../../../src/inventory';
import { startSimulatedFleet, type SimulatedFleet, type Simulator, type SimulatorOptions } from '../../../src/simulator';
import { Engine, type Delivered, type EngineOptions, type NewOrder } from '../../engine';

export const ROLE = 'users/user-roles/user-role/Users';
export const SETTING = { path: ROLE, body: { description: 'set by the fleet' } };
export const LOGIN = { username: 'api-admin', password: 'simulator' };
const PATIENCE_MS = Number(process.env['FLEET_PATIENCE'] ?? 250_000);

/** Waits until something is so; how long that takes is nobody's business. */
export async function until(so: () => boolean | Promise<boolean>, what = 'It did not come about.'): Promise<void> {
  const late = performance.now() + PATIENCE_MS;
  while (!(await so())) {
    if (performance.now() > late) throw new Error(what);
    await pause(50);
  }
}

/** One process of a fleet, within the test's own. */
export interface Member {
  readonly engine: Engine;
  readonly delivered: Delivered[];
  stop(): Promise<void>;
}

/** An order as most are: of a write, to all at once, by nobody in particular. */
export function usualOrder(items: NewOrder['items']): Omit<NewOrder, 'id' | 'operation'> {
  return {
    kind: 'operation',
    input: {},
    items,
    selection: '*',
    dryRun: false,
    urgent: false,
    withData: false,
    repeats: true,
    canary: 0,
    ends: [items.length],
    maxFailures: Infinity,
    node: 'node',
    initiator: {},
  };
}

/** Simulated appliances and what works on them. */
export class Bench {
  readonly #members: Member[] = [];

  private constructor(
    readonly url: string,
    readonly fleet: SimulatedFleet,
  ) {}

  static async start(url: string, count: number, options: SimulatorOptions = {}): Promise<Bench> {
    return new Bench(url, await startSimulatedFleet(count, options));
  }

  /** A process with all appliances; `node` is the name under which it starts runs. */
  async member(more: Partial<EngineOptions> & { node?: string; secrets?: Record<string, { password: string }> } = {}): Promise<Member> {
    const { node = 'node', secrets = {}, ...options } = more;
    const shared: { by?: Engine } = {};
    const sharing = new Gateways({
      coordination: {
        exclusive: (...args) => engineOf(shared).coordination.exclusive(...args),
        remembered: (...args) => engineOf(shared).coordination.remembered(...args),
        remember: (...args) => engineOf(shared).coordination.remember(...args),
        update: (...args) => engineOf(shared).coordination.update(...args),
      },
    });
    const inventory = new Inventory({
      defaults: { realm: 'Admin Users', timeout: 5, tls: { ca: this.fleet.ca } },
      credentials: { default: LOGIN, ...secrets },
      gateways: sharing,
    });
    await inventory.take(this.fleet.entries);
    const engine = new Engine({
      url: this.url,
      appliances: { named: (name) => inventory.named(name), secretOf: (set) => secrets[set]?.password ?? '' },
      ...options,
    });
    shared.by = engine;
    const delivered: Delivered[] = [];
    engine.listen({ name: node, report: (one) => delivered.push(one) });
    await engine.start();
    const member = {
      engine,
      delivered,
      stop: async () => {
        await engine.stop();
        sharing.close();
      },
    };
    this.#members.push(member);
    return member;
  }

  order(id: string, more: Partial<NewOrder> & { operation: string }): NewOrder {
    const items = more.items ?? this.fleet.entries.map(({ name }) => ({ appliance: name }));
    return { ...usualOrder(items), id, ...more };
  }

  /** Writes that left, by appliance, as those tell it themselves. */
  writes(): Map<string, number> {
    return new Map(this.fleet.entries.map(({ name }) => [name, writesOf(this.fleet.named(name))]));
  }

  reset(): void {
    for (const appliance of this.fleet.appliances) {
      appliance.clearFaults();
      appliance.requests.length = 0;
      appliance.state.configuration.resource('users', 'user-roles', 'user-role', 'Users').values.set('description', '');
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.stop()));
    await this.fleet.close();
  }
}

export function writesOf(appliance: Simulator): number {
  return appliance.requests.filter(({ method, path }) => ['PUT', 'POST', 'DELETE'].includes(method) && path.includes('/configuration/'))
    .length;
}

function engineOf({ by }: { by?: Engine }): Engine {
  if (!by) throw new Error('There is no engine yet.');
  return by;
}
