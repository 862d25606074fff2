import type { Node, NodeAPI } from 'node-red';
import type { Gateway, GatewayOptions } from '../src/gateway';
import type { Exchanged } from '../src/http/history';
import { isObject } from '../src/model/json';
import { adminRead } from './admin';
import { deployedAppliances } from './appliance';
import type { Message } from './sources';
import { flowFindings, settingFindings } from './flow-findings';

/** The name under which every exchange of an appliance is logged that is to be. */
const LOGGED = 'gateway-exchange';

/** A line of the log: an object for handlers of one's own, JSON where it becomes text. */
class Line {
  constructor(appliance: string, exchange: Exchanged) {
    Object.assign(this, { appliance, ...exchange });
  }

  toString(): string {
    return JSON.stringify(this);
  }
}

/** Those of an inventory outlive the nodes that they were made for. */
let latest: NodeAPI | undefined;

/**
 * What Node-RED has for whoever operates it: log lines, and what it adds to a support bundle. `id` is that of the appliance node; of what an
 * inventory has there is none.
 */
export function observing(id?: string): Pick<GatewayOptions, 'onExchange' | 'host'> {
  return {
    onExchange: (exchange, appliance) => {
      const red = latest;
      red?.log.log({
        level: red.log.INFO,
        type: LOGGED,
        ...(id !== undefined && { id }),
        name: appliance,
        msg: new Line(appliance, exchange),
      });
    },
    host: () => {
      const red = latest;
      return red ? { versions: { 'node-red': versionOf(red) }, findings: [...settingFindings(red), ...flowFindings(red, id)] } : {};
    },
  };
}

/** As Node-RED puts it among its settings; its types do not know that. */
function versionOf({ settings }: NodeAPI): string {
  const { version } = settings as { version?: unknown };
  return typeof version === 'string' ? version : 'unknown';
}

/** An appliance of an inventory: `id` is that of the inventory node. */
interface Listed {
  readonly id: string;
  readonly name: string;
  readonly present: Gateway | undefined;
}

/** `GET /gateway-appliance/counters`: what each deployed appliance was asked, how often and how long it took; `listed` gives those of inventories. */
export function registerCounters(red: NodeAPI, listed: () => readonly Listed[] = () => []): void {
  latest = red;
  adminRead(red, '/gateway-appliance/counters', () => ({
    appliances: [
      ...deployedAppliances().map(({ id, label, present }) => ({ id, name: label, counters: present?.counters() ?? null })),
      ...listed().map(({ id, name, present }) => ({ inventory: id, name, counters: present?.counters() ?? null })),
    ],
  }));
}

/** Node-RED's own events for measuring, where somebody collects them: what a message took. */
export function measure(node: Node, message: Message): void {
  try {
    if (!node.metric() || !isObject(message.envelope)) return;
    const { ms, requests, retries, logins, code } = message.envelope;
    const values = { 'duration.millis': ms, requests, retries, logins, ...(typeof code === 'string' && { [`failed.${code}`]: 1 }) };
    for (const [event, value] of Object.entries(values)) node.metric(event, message, value as number);
  } catch {
    // Who measures may fail: no message pays for it.
  }
}
