/**
 * What the nodes of another package of this project build on (`@gateway-admin/node-red/nodes`): how a node reads its properties, fields
 * and operation, how it fails, and the inventories that are deployed. Nothing here is needed for a flow.
 */
export { hideCredentials } from './gateway';
export { isOurs, plainFailure, type Failure } from './failure';
export { Canceller } from '../src/model/cancelling';
export { failureEnvelope } from '../src/run/envelope';
export { Fleet } from './fleet';
export { inventoryById, type InventoryNode } from './inventory';
export { Operations, type Chosen } from './operations';
export { owned, Output } from './output';
export { placeOf } from './place';
export { badConfig, Properties } from './properties';
export { onMessage, type Done, type Send } from './receive';
export { shareBetweenProcesses } from './shared';
export type { Message } from './sources';
export { titleOf } from '../src/model/summary';
export { sayForOthers, textOf } from './texts';
