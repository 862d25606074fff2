import { watchInputs } from './inputs-property';
import { use, type AreaInfo } from './table';

/** Everything that gateway.html calls, as members of the global `gatewayEditor`. */
export { closeAction, label, openAction, outputLabel, saveAction } from './action';
export { applianceLabel, closeAppliance, openAppliance, saveAppliance } from './appliance';
export { checkConnections, checkCredential, checkRealm, checkSeconds, checkUrl } from './appliance-check';
export { checkAppliance, checkInputs, checkOperation, checkOutput } from './check';
export { install } from './inputs-property';

/** Called once, by the line that the build adds, with the operation table. */
export function start(table: Record<string, AreaInfo>): void {
  use(table);
  watchInputs();
}
