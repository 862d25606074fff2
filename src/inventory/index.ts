export { fromEnvironment, fromFolder, fromObject, type CredentialSet, type CredentialSource } from './credentials';
export { DEFAULT_SET, ENTRY_PROPERTIES, type InventoryEntry } from './entry';
export { Gateways, type KeptGateway } from './gateways';
export { Inventory, InventoryAppliance, type InventoryOptions, type SettingsOf } from './inventory';
export { AT_ONCE, paceOf, type Pace, type PaceOptions, type Share } from './pace';
export { formatOf, LARGEST_BYTES, parseInventory, type InventoryFormat } from './parse';
export {
  manyReport,
  partlyFailed,
  type ApplianceResult,
  type Costs,
  type ManyAppliances,
  type PlannedAt,
  type Reported,
  type Stopped,
} from './report';
export { MOST_DESTROYED, runOnMany, type ManyOptions, type ManyOutcome, type ManyProgress, type Target } from './run-many';
export { readSelection, type Select, type Selectable } from './selection';
