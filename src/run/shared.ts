import type { Call, HostFacts, SupportFacts } from '../model/call';
import type { Cancellable } from '../model/cancelling';
import type { Coordination } from '../model/coordination';
import { counterValues } from '../model/counters';
import { asGatewayError } from '../model/error';
import { shownSettings } from '../model/shown-settings';
import type { Recent } from './recent';
import type { Sender, SenderParts } from './sender';

/** What all calls of one gateway share. */
export interface Shared extends SenderParts {
  readonly facts: Map<string, Promise<string>>;
  readonly coordination: Coordination;
  readonly host?: (() => HostFacts) | undefined;
  readonly recent: Recent;
}

/** What operations may know of the settings: nothing that logs in. */
export function settingsSeen({ settings }: Shared): Call['settings'] {
  const { name, login, realm = '', vendor = '', brand = '', connections, origin, prefix, journal = '' } = settings;
  const accounts = [settings.username, settings.secondUsername]
    .filter((account) => account !== undefined)
    .filter((account) => account !== '');
  return { name, accounts, realm: login === 'realm' ? realm : '', vendor, brand, connections, base: origin + prefix, prefix, journal };
}

export function supportFacts({ settings, transport, host }: Shared): SupportFacts {
  const { counters, load, opened, history } = transport;
  return {
    settings: shownSettings(settings),
    counters: counterValues(counters, { ...load, opened }),
    exchanges: history.list(),
    host: host?.() ?? {},
  };
}

/** Something about the appliance that is found once, for all who ask. */
export async function factOf(
  shared: Shared,
  by: { readonly sender: Sender; readonly signal: Cancellable | undefined },
  name: string,
  find: () => Promise<string>,
): Promise<string> {
  const { facts } = shared;
  const known = facts.get(name);
  if (known) {
    try {
      return await by.sender.waitFor(known);
    } catch (error) {
      // Whoever was looking was cancelled; this call was not and looks itself.
      if (asGatewayError(error).code !== 'ABORTED' || by.signal?.aborted) throw error;
      return factOf(shared, by, name, find);
    }
  }
  const found = find();
  facts.set(name, found);
  // What could not be found this time may be found the next.
  found.catch(() => facts.delete(name));
  return found;
}
