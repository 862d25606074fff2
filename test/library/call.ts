import { Transport } from '../../src/http/transport';
import { Session } from '../../src/login/session';
import { processCoordination } from '../../src/model/process-coordination';
import { Redactor } from '../../src/model/redaction';
import { checkSettings, type Settings } from '../../src/model/settings';
import { OperationCall, type CallOptions } from '../../src/run/call';
import type { Pin } from '../../src/run/pin';
import { Recent } from '../../src/run/recent';
import { settingsFor } from './appliance';

/** A run of some operation, as the operation sees it. */
export function callOf(
  target: { url: string },
  options: Partial<CallOptions> = {},
  more: Partial<Settings> = {},
  pin?: Pin,
): OperationCall {
  const settings = checkSettings(settingsFor(target, more));
  const transport = new Transport(settings);
  const session = new Session(settings, transport, new Redactor(), processCoordination);
  const facts = new Map<string, Promise<string>>();
  const shared = { settings, transport, session, facts, coordination: processCoordination, recent: new Recent(), pin };
  return new OperationCall(shared, { dryRun: false, masking: new Redactor(), ...options });
}
