import { formatOpenMetrics, type MetricFamily } from '@gateway-admin/node-red';
import type { Database } from './database';
import { FLEET_SCHEMA } from './schema';

const COUNT_RUNS = `SELECT state, count(*) AS count FROM ${FLEET_SCHEMA}.run WHERE fleet = $1 GROUP BY state`;

const COUNT_ITEMS = `SELECT state, count(*) AS count FROM ${FLEET_SCHEMA}.item WHERE fleet = $1 GROUP BY state`;

/** Reads the oldest waiting item. Items of a paused run do not count, because they wait on purpose. */
const READ_OLDEST_ITEM = `
  SELECT coalesce(extract(epoch FROM now() - min(run.created)), 0)::float AS seconds
  FROM ${FLEET_SCHEMA}.run WHERE fleet = $1 AND state = 'running'
    AND EXISTS (SELECT FROM ${FLEET_SCHEMA}.item WHERE item.fleet = run.fleet AND item.run = run.id AND item.state = 'waiting')`;

interface StateCount {
  readonly state: string;
  readonly count: number;
}

/** Formats the stored runs and items of a fleet, its living engines, and the database time of this process as OpenMetrics text. */
export async function readFleetMetrics(
  database: Database,
  fleet: string,
  engines: ReadonlyMap<string, readonly string[]>,
): Promise<string> {
  const runs = await database.query<StateCount & Record<string, unknown>>(COUNT_RUNS, [fleet]);
  const items = await database.query<StateCount & Record<string, unknown>>(COUNT_ITEMS, [fleet]);
  const [oldest] = await database.query<{ seconds: number }>(READ_OLDEST_ITEM, [fleet]);
  const countOf = (rows: readonly StateCount[], ...states: string[]): number =>
    rows.filter(({ state }) => states.includes(state)).reduce((sum, { count }) => sum + count, 0);
  const { statements, seconds } = database.usage;
  const families: MetricFamily[] = [
    gauge('engines', 'Engines of the fleet that are alive.', [...engines.values()].flat().length),
    gauge('inventories', 'Different inventories of the living engines. More than 1 is a fault.', engines.size),
    {
      ...gauge('runs', 'Stored runs by state.'),
      samples: ['running', 'paused', 'done'].map((state) => ({ labels: { state }, value: countOf(runs, state) })),
    },
    gauge('queue_items', 'Items that wait for their turn.', countOf(items, 'waiting')),
    gauge('active_items', 'Items that an engine works on.', countOf(items, 'claimed', 'sending')),
    { ...gauge('oldest_item_seconds', 'Age of the oldest waiting item of a running run.', oldest?.seconds ?? 0), unit: 'seconds' },
    {
      ...gauge('items', 'Stored items by outcome. The outcome unknown needs a check on the appliance.'),
      samples: ['ok', 'failed', 'unknown', 'skipped'].map((outcome) => ({ labels: { outcome }, value: countOf(items, outcome) })),
    },
    {
      name: 'gateway_fleet_database_statements',
      type: 'counter',
      help: 'Statements and transactions of this Node-RED.',
      samples: [{ suffix: '_total', value: statements }],
    },
    {
      name: 'gateway_fleet_database_seconds',
      type: 'counter',
      unit: 'seconds',
      help: 'Time that the statements took, with the wait for a connection.',
      samples: [{ suffix: '_total', value: seconds }],
    },
  ];
  return formatOpenMetrics(families, { fleet });
}

const gauge = (name: string, help: string, value?: number): MetricFamily => ({
  name: `gateway_fleet_${name}`,
  type: 'gauge',
  help,
  samples: value === undefined ? [] : [{ value }],
});
