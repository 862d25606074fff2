import { FLEET_SCHEMA } from './schema';

/** The heartbeat of an engine is a row of the table `lease` with this key and the id of the engine. */
export const HEARTBEAT_KEY_PREFIX = 'instance:';

/** Whether the engine with this id counts as alive. */
export const createIsAliveSql = (holder: string): string =>
  `EXISTS (SELECT FROM ${FLEET_SCHEMA}.lease WHERE key = '${HEARTBEAT_KEY_PREFIX}' || ${holder} AND NOT ${FLEET_SCHEMA}.is_over(expires))`;

/** Rows of the living engines of the fleet `$1`. */
export const LIVING_ENGINES_SQL = `${FLEET_SCHEMA}.lease WHERE key LIKE '${HEARTBEAT_KEY_PREFIX}%' AND NOT ${FLEET_SCHEMA}.is_over(expires) AND value->>'fleet' = $1`;
