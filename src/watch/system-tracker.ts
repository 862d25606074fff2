import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import type { SystemEvent } from './events';
import { WholeStateTracker, type CheckSummary } from './tracker';

/** The event for each field of the system information that can change. */
const EVENT_FIELDS = { release: 'os-version', replaced: 'serial-number', renamed: 'host-name' } as const;
const EVENT_NAMES = ['release', 'replaced', 'renamed'] as const;
type SystemIdentity = { readonly [event in keyof typeof EVENT_FIELDS]?: string };

/** Reports changes of the release, serial number and host name. A missing field changes nothing. */
export class SystemTracker extends WholeStateTracker<SystemIdentity, SystemEvent, JsonObject> {
  protected compare(
    data: JsonObject,
    previous: SystemIdentity | undefined,
  ): { state: SystemIdentity; events: SystemEvent[]; summary: CheckSummary } {
    const information = data['system-information'];
    if (!isObject(information))
      throw new GatewayError('BAD_RESPONSE', 'The response of the appliance is not system information.', { sent: true });
    const state: { -readonly [event in SystemEvent['event']]?: string } = { ...previous };
    const events: SystemEvent[] = [];
    for (const event of EVENT_NAMES) {
      const value = information[EVENT_FIELDS[event]];
      if (typeof value !== 'string' || value === '') continue;
      const old = state[event];
      if (old !== undefined && old !== value) events.push({ event, before: old, after: value });
      state[event] = value;
    }
    return { state, events, summary: { key: events.length > 0 ? 'changed' : 'same' } };
  }

  protected isState(saved: unknown): saved is SystemIdentity {
    return isObject(saved) && Object.values(saved).every((value) => typeof value === 'string');
  }
}
