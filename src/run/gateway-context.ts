import type { RecordSigner } from '../model/record-signer';
import type { OperationContext, HostInfo, SupportInfo } from '../model/operation-context';
import type { AbortSignalLike } from '../model/abort';
import type { Coordination } from '../model/coordination';
import { toCounterValues } from '../model/counters';
import { asGatewayError } from '../model/error';
import { redactSettings } from '../model/redacted-settings';
import { isRehearsing } from '../model/settings';
import type { ReadCache } from './read-cache';
import type { Sender, SenderDependencies } from './sender';

/** What all runs of one gateway share. */
export interface GatewayContext extends SenderDependencies {
  readonly lookups: Map<string, Promise<string>>;
  readonly coordination: Coordination;
  readonly hostInfo?: (() => HostInfo) | undefined;
  readonly readCache: ReadCache;
  /** Signs records in folders. Undefined without a signing key. */
  readonly signer?: RecordSigner | undefined;
  /** A folder with records, across restarts, of what other folders must contain. */
  readonly stateFolder?: string | undefined;
}

/** The settings that operations may see, without credentials. */
export function toOperationSettings({ settings, signer, stateFolder }: GatewayContext): OperationContext['settings'] {
  const { name, login, realm = '', vendor = '', brand = '', connections, origin, prefix, journal = '' } = settings;
  const accounts = [settings.username, settings.secondUsername]
    .filter((account) => account !== undefined)
    .filter((account) => account !== '');
  const isRehearsal = isRehearsing(settings);
  const ownRealm = login === 'realm' ? realm : '';
  return {
    name,
    accounts,
    isRehearsal,
    realm: ownRealm,
    vendor,
    brand,
    connections,
    base: origin + prefix,
    prefix,
    journal,
    signer,
    stateFolder,
  };
}

export function getSupportInfo({ settings, transport, hostInfo }: GatewayContext): SupportInfo {
  const { counters, load, opened, exchangeLog } = transport;
  return {
    settings: redactSettings(settings),
    counters: toCounterValues(counters, { ...load, opened }),
    exchanges: exchangeLog.list(),
    host: hostInfo?.() ?? {},
  };
}

/** Finds a fact about the appliance once for all runs that need it. */
export async function memoizeLookup(
  context: GatewayContext,
  run: { readonly sender: Sender; readonly signal: AbortSignalLike | undefined },
  name: string,
  find: () => Promise<string>,
): Promise<string> {
  const { lookups } = context;
  const pending = lookups.get(name);
  if (pending) {
    try {
      return await run.sender.waitFor(pending);
    } catch (error) {
      // The run that was looking was canceled, so this run looks itself.
      if (asGatewayError(error).code !== 'ABORTED' || run.signal?.aborted) throw error;
      return memoizeLookup(context, run, name, find);
    }
  }
  const lookup = find();
  lookups.set(name, lookup);
  // A failed lookup is repeated by the next run.
  lookup.catch(() => lookups.delete(name));
  return lookup;
}
