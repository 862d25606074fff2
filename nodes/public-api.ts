/** The exports that the nodes of `fleet/` use, as `@gateway-admin/node-red/nodes`. Flows do not need them. */
export { hideCredentials } from './common/hide-credentials';
export { isGatewayFailure, toPlainFailure, type NodeFailure } from './message/failure';
export { LightAbortController } from '../src/model/abort';
export { createEarlyFailureEnvelope } from '../src/run/envelope';
export { ManyAppliancesRunner } from './action/many-appliances';
export { getInventoryById, type InventoryNode } from './inventory/inventory-node';
export { OperationSelector, type SelectedOperation } from './message/operation-selector';
export { normalizeMessage, OutputProperty } from './message/output-property';
export { describeNodeAndFlow } from './common/node-origin';
export { badConfig, NodeProperties } from './common/node-properties';
export { onInput, type DoneCallback, type SendCallback } from './message/on-input';
export { shareInventoryStateBetweenProcesses } from './inventory/coordination';
export type { Message } from './message/typed-value';
export { createOperationTitle } from '../src/model/summary';
export { translatorForPackage, translateText } from './common/i18n';
