import { Transport } from '../../src/http/transport';
import { Session } from '../../src/login/session';
import { processCoordination } from '../../src/model/process-coordination';
import { Redactor } from '../../src/model/redaction';
import { checkSettings, type Settings } from '../../src/model/settings';
import { RunContext, type RunContextOptions } from '../../src/run/run-context';
import type { IdentityPin } from '../../src/run/identity-pin';
import { EntityTagSupport } from '../../src/run/entity-tags';
import { ReadCache } from '../../src/run/read-cache';
import { settingsFor } from './simulated-appliance';

/** The context of a run, as an operation sees it. */
export function createRunContext(
  target: { url: string },
  options: Partial<RunContextOptions> = {},
  more: Partial<Settings> = {},
  pin?: IdentityPin,
): RunContext {
  const settings = checkSettings(settingsFor(target, more));
  const transport = new Transport(settings);
  const session = new Session(settings, transport, new Redactor(), processCoordination);
  const facts = new Map<string, Promise<string>>();
  const shared = { settings, transport, session, lookups: facts, coordination: processCoordination, readCache: new ReadCache(), pin };
  const entityTagSupport = new EntityTagSupport();
  return new RunContext({ ...shared, entityTagSupport }, { dryRun: false, masker: new Redactor(), ...options });
}
