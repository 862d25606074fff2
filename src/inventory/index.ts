export {
  credentialsFromEnvironment,
  credentialsFromFolder,
  credentialsFromObject,
  type CredentialSet,
  type CredentialSource,
} from './credentials';
export { DEFAULT_CREDENTIAL_SET, INVENTORY_ENTRY_PROPERTIES, type InventoryEntry } from './entry';
export { GatewayRegistry, type SharedGateway } from './gateway-registry';
export { Inventory, InventoryAppliance, type InventoryOptions, type ToSettings } from './inventory';
export { DEFAULT_CONCURRENCY, planRollout, type RolloutPlan, type RolloutOptions, type CountOrPercent } from './rollout-plan';
export { detectInventoryFormat, MAX_INVENTORY_BYTES, parseInventory, type InventoryFormat } from './parse-inventory';
export {
  createManyReport,
  findPartialFailure,
  type ApplianceResult,
  type EnvelopeCosts,
  type ManyAppliancesData,
  type PlannedApplianceRequest,
  type ManyReportInput,
  type StopReason,
} from './many-report';
export {
  MAX_DESTROYED_APPLIANCES,
  runOnMany,
  type RunOnManyOptions,
  type RunOnManyOutcome,
  type RunOnManyProgress,
  type ApplianceTarget,
} from './run-on-many';
export { parseSelection, type SelectionPredicate, type Selectable } from './selection';
