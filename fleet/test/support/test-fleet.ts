import { setTimeout as pause } from 'node:timers/promises';
import { Inventory } from '../../../src';
import { GatewayRegistry } from '../../../src/inventory';
import { startSimulatedFleet, type SimulatedFleet, type Simulator, type SimulatorOptions } from '../../../src/simulator';
import type { JobSender } from '../../store/run-store';
import { Engine, type DeliveredReport, type EngineOptions, type NewFleetRun } from '../../engine';

export const ROLE_PATH = 'users/user-roles/user-role/Users';
export const ENSURE_INPUT = { path: ROLE_PATH, body: { description: 'set by the fleet' } };
export const ADMIN_LOGIN = { username: 'api-admin', password: 'simulator' };
export const TEST_FLEET = { inventory: 'inv', name: '' };
const MAX_WAIT_MS = Number(process.env['FLEET_PATIENCE'] ?? 250_000);

/** Waits for a condition. The limit is so long that it does not depend on the load of the machine. */
export async function waitUntil(
  isReached: () => boolean | Promise<boolean>,
  failureMessage = 'The condition was not reached.',
): Promise<void> {
  const deadline = performance.now() + MAX_WAIT_MS;
  while (!(await isReached())) {
    if (performance.now() > deadline) throw new Error(failureMessage);
    await pause(50);
  }
}

/** One engine, inside the process of the test. */
export interface FleetMember {
  readonly engine: Engine;
  readonly delivered: DeliveredReport[];
  stop(): Promise<void>;
}

/** Sends no job and finds none lost. */
export const NO_JOBS: JobSender = {
  sendItems: () => Promise.resolve(),
  sendCoordinator: () => Promise.resolve(),
  findLostItemJobs: () => Promise.resolve([]),
  isCoordinatorJobLost: () => Promise.resolve(false),
};

/** Default options of a run: one batch without limits. */
export function createUsualRun(items: NewFleetRun['items']): Omit<NewFleetRun, 'id' | 'operation'> {
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

/** Simulated appliances and the engines that work on them. */
export class TestFleet {
  readonly #members: FleetMember[] = [];

  private constructor(
    readonly url: string,
    readonly fleet: SimulatedFleet,
  ) {}

  static async start(url: string, count: number, options: SimulatorOptions = {}): Promise<TestFleet> {
    return new TestFleet(url, await startSimulatedFleet(count, options));
  }

  /** Starts an engine with all appliances. `node` is the name under which it starts runs. */
  async startMember(
    overrides: Partial<EngineOptions> & {
      node?: string;
      secrets?: Record<string, { password?: string; signingKey?: string }>;
      entries?: SimulatedFleet['entries'];
    } = {},
  ): Promise<FleetMember> {
    const { node = 'node', secrets = {}, entries = this.fleet.entries, ...options } = overrides;
    const engineHolder: { engine?: Engine } = {};
    const gateways = new GatewayRegistry({
      coordination: {
        runExclusive: (...args) => requireEngine(engineHolder).coordination.runExclusive(...args),
        get: (...args) => requireEngine(engineHolder).coordination.get(...args),
        set: (...args) => requireEngine(engineHolder).coordination.set(...args),
        update: (...args) => requireEngine(engineHolder).coordination.update(...args),
      },
    });
    const inventory = new Inventory({
      defaults: { realm: 'Admin Users', timeout: 5, tls: { ca: this.fleet.ca } },
      credentials: { ...secrets, default: { ...ADMIN_LOGIN, ...secrets.default } },
      gateways: gateways,
    });
    await inventory.loadEntries(entries);
    const engine = new Engine({
      url: this.url,
      fleet: TEST_FLEET,
      appliances: {
        findAppliance: (name) => inventory.findAppliance(name),
        listAppliances: () => inventory.appliances,
        getSecret: (set) => secrets[set]?.password ?? '',
        getSigningKey: () => secrets.default?.signingKey,
      },
      ...options,
    });
    engineHolder.engine = engine;
    const delivered: DeliveredReport[] = [];
    engine.addListener({ name: node, report: (one) => delivered.push(one) });
    await engine.start();
    const member = {
      engine,
      delivered,
      stop: async () => {
        await engine.stop();
        gateways.close();
      },
    };
    this.#members.push(member);
    return member;
  }

  createRun(id: string, overrides: Partial<NewFleetRun> & { operation: string }): NewFleetRun {
    const items = overrides.items ?? this.fleet.entries.map(({ name }) => ({ appliance: name }));
    return { ...createUsualRun(items), id, ...overrides };
  }

  /** Number of writes that each appliance received. */
  countWritesByAppliance(): Map<string, number> {
    return new Map(this.fleet.entries.map(({ name }) => [name, countWrites(this.fleet.getAppliance(name))]));
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

export function countWrites(appliance: Simulator): number {
  return appliance.requests.filter(({ method, path }) => ['PUT', 'POST', 'DELETE'].includes(method) && path.includes('/configuration/'))
    .length;
}

function requireEngine({ engine }: { engine?: Engine }): Engine {
  if (!engine) throw new Error('The engine does not exist yet.');
  return engine;
}
