export { Engine, IN_FLIGHT, URGENT_IN_FLIGHT, type EngineOptions, type NewOrder } from './engine';
export type { Delivered, Listener } from './reports';
export type { FleetReport } from '../coordinator/report';
export { Database } from '../ledger/database';
export { LeaseCoordination } from '../ledger/lease';
export { migrate } from '../ledger/schema';
export type { ItemOutcome, ItemRow, Progress, RunRow } from '../ledger/rows';
export type { Appliances, FleetTarget } from '../worker/worker';
