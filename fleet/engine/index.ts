export { Engine, DEFAULT_CONNECTIONS, DEFAULT_IN_FLIGHT, DEFAULT_URGENT_IN_FLIGHT, type EngineOptions, type NewRun } from './engine';
export type { DeliveredReport, ReportListener } from './report-delivery';
export type { FleetReport } from '../coordinator/report';
export { Database } from '../store/database';
export { LeaseCoordination } from '../store/lease-coordination';
export { migrateSchema } from '../store/schema';
export type { ItemOutcome, ItemRow, RunProgress, RunRow } from '../store/rows';
export type { FleetIdentity } from '../worker/fleet-identity';
export type { ApplianceSource, FleetTarget } from '../worker/item-worker';
