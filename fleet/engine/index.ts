export {
  Engine,
  DEFAULT_DATABASE_CONNECTIONS,
  DEFAULT_ITEMS_IN_FLIGHT,
  DEFAULT_URGENT_ITEMS_IN_FLIGHT,
  type EngineOptions,
  type NewFleetRun,
} from './engine';
export type { DeliveredReport, ReportListener } from './report-delivery';
export type { FleetReport } from '../coordinator/report';
export { Database } from '../store/database';
export { LeaseCoordination } from '../store/lease-coordination';
export { migrateSchema } from '../store/schema';
export type { ItemOutcome, ItemRow, RunProgress, RunRow } from '../store/rows';
export type { FleetIdentity } from '../worker/fleet-identity';
export type { ApplianceSource, FleetAppliance } from '../worker/item-worker';
