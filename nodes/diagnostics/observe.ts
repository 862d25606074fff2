import type { Node, NodeAPI } from 'node-red';
import type { Gateway, GatewayOptions } from '../../src/gateway';
import type { ExchangeLogEntry } from '../../src/http/exchange-log';
import { isObject } from '../../src/model/json';
import { registerAdminReadRoute } from '../admin/admin-route';
import { listDeployedAppliances } from '../appliance/appliance-node';
import type { Message } from '../message/typed-value';
import { findUnguardedFlows, findInsecureSettings } from './security-findings';

/** The name under which every exchange of an appliance is logged that is to be. */
const EXCHANGE_LOG_TYPE = 'gateway-exchange';

/** A line of the log: an object for handlers of one's own, JSON where it becomes text. */
class ExchangeLogLine {
  constructor(appliance: string, exchange: ExchangeLogEntry) {
    Object.assign(this, { appliance, ...exchange });
  }

  toString(): string {
    return JSON.stringify(this);
  }
}

/** Those of an inventory outlive the nodes that they were made for. */
let latestRuntime: NodeAPI | undefined;

/**
 * What Node-RED has for whoever operates it: log lines, and what it adds to a support bundle. `id` is that of the appliance node; of what an
 * inventory has there is none.
 */
export function createDiagnosticsOptions(id?: string): Pick<GatewayOptions, 'onExchange' | 'hostInfo'> {
  return {
    onExchange: (exchange, appliance) => {
      const red = latestRuntime;
      red?.log.log({
        level: red.log.INFO,
        type: EXCHANGE_LOG_TYPE,
        ...(id !== undefined && { id }),
        name: appliance,
        msg: new ExchangeLogLine(appliance, exchange),
      });
    },
    hostInfo: () => {
      const red = latestRuntime;
      return red
        ? { versions: { 'node-red': readNodeRedVersion(red) }, findings: [...findInsecureSettings(red), ...findUnguardedFlows(red, id)] }
        : {};
    },
  };
}

/** As Node-RED puts it among its settings; its types do not know that. */
function readNodeRedVersion({ settings }: NodeAPI): string {
  const { version } = settings as { version?: unknown };
  return typeof version === 'string' ? version : 'unknown';
}

/** An appliance of an inventory: `id` is that of the inventory node. */
interface InventoryApplianceInfo {
  readonly id: string;
  readonly name: string;
  readonly existingGateway: Gateway | undefined;
}

/** `GET /gateway-appliance/counters`: what each deployed appliance was asked, how often and how long it took; `listed` gives those of inventories. */
export function registerCountersRoute(red: NodeAPI, listInventoryAppliances: () => readonly InventoryApplianceInfo[] = () => []): void {
  latestRuntime = red;
  registerAdminReadRoute(red, '/gateway-appliance/counters', () => ({
    appliances: [
      ...listDeployedAppliances().map(({ id, label, existingGateway }) => ({
        id,
        name: label,
        counters: existingGateway?.counters() ?? null,
      })),
      ...listInventoryAppliances().map(({ id, name, existingGateway }) => ({
        inventory: id,
        name,
        counters: existingGateway?.counters() ?? null,
      })),
    ],
  }));
}

/** Node-RED's own events for measuring, where somebody collects them: what a message took. */
export function emitMetrics(node: Node, message: Message): void {
  try {
    if (!node.metric() || !isObject(message.envelope)) return;
    const { ms, requests, retries, logins, code } = message.envelope;
    const values = { 'duration.millis': ms, requests, retries, logins, ...(typeof code === 'string' && { [`failed.${code}`]: 1 }) };
    for (const [event, value] of Object.entries(values)) node.metric(event, message, value as number);
  } catch {
    // Who measures may fail: no message pays for it.
  }
}
