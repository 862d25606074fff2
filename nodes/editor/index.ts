import { readOldFlows } from './old-flows';
import { use, type AreaInfo } from './table';

/** Everything that gateway.html calls, as members of the global `gatewayEditor`. */
export { closeAction, label, openAction, outputLabel, saveAction } from './action';
export { applianceLabel, closeAppliance, openAppliance, saveAppliance } from './appliance';
export { checkConnections, checkCredential, checkRealm, checkSeconds, checkUrl } from './appliance-check';
export { checkAppliance, checkFields, checkOperation, checkOutput } from './check';

/** Called once, by the line that the build adds, with the operation table. */
export function start(table: Record<string, AreaInfo>): void {
  use(table);
  readOldFlows();
}
