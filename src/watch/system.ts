import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { SmallTracker, type Found, type Seen } from './tracker';

/** What is told when it changes, and where system information has it. */
const FIELDS = { release: 'os-version', replaced: 'serial-number', renamed: 'host-name' } as const;
type System = { readonly [event in keyof typeof FIELDS]?: string };

/** Release, serial number and host name. What an answer does not have changes nothing. */
export class SystemTracker extends SmallTracker<System, JsonObject> {
  protected compare(data: JsonObject, before: System | undefined): { state: System; events: Found[]; seen: Seen } {
    const information = data['system-information'];
    if (!isObject(information))
      throw new GatewayError('BAD_RESPONSE', 'What the appliance answered is no system information.', { sent: true });
    const state: Record<string, string> = { ...before };
    const events: Found[] = [];
    for (const [event, field] of Object.entries(FIELDS)) {
      const value = information[field];
      if (typeof value !== 'string' || value === '') continue;
      const old = state[event];
      if (old !== undefined && old !== value) events.push({ event, before: old, after: value });
      state[event] = value;
    }
    return { state, events, seen: { key: events.length > 0 ? 'changed' : 'same' } };
  }

  protected isState(saved: unknown): saved is System {
    return isObject(saved) && Object.values(saved).every((value) => typeof value === 'string');
  }
}
