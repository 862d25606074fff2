import type { Node, NodeAPI } from 'node-red';
import type { Gateway, GatewayOptions } from '../../src/gateway';
import type { ExchangeLogEntry } from '../../src/http/exchange-log';
import { isObject } from '../../src/model/json';
import { registerAdminReadRoute } from '../admin/admin-route';
import { listDeployedAppliances } from '../appliance/appliance-node';
import type { Message } from '../message/typed-value';
import { findUnguardedFlows, findInsecureSettings } from './security-findings';

/** The `type` of the log lines that record exchanges. */
const EXCHANGE_LOG_TYPE = 'gateway-exchange';

/** A log line: an object for custom log handlers, JSON as text. */
class ExchangeLogLine {
  constructor(appliance: string, exchange: ExchangeLogEntry) {
    Object.assign(this, { appliance, ...exchange });
  }

  toString(): string {
    return JSON.stringify(this);
  }
}

/** The gateways of an inventory outlive their nodes, so they use the latest runtime. */
let latestRuntime: NodeAPI | undefined;

/** Returns the log callback and the facts that Node-RED adds to a support bundle. `id` is the appliance node; an inventory has none. */
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

/** The version is in the settings, but the types omit it. */
function readNodeRedVersion({ settings }: NodeAPI): string {
  const { version } = settings as { version?: unknown };
  return typeof version === 'string' ? version : 'unknown';
}

/** An appliance of an inventory. `id` is the inventory node. */
interface InventoryApplianceInfo {
  readonly id: string;
  readonly name: string;
  readonly existingGateway: Gateway | undefined;
}

/** `GET /gateway-appliance/counters` returns the requests and times of each deployed appliance. */
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

/** Emits Node-RED metrics for one message: duration, requests, retries and logins. */
export function emitMetrics(node: Node, message: Message): void {
  try {
    if (!node.metric() || !isObject(message.envelope)) return;
    const { ms, requests, retries, logins, code } = message.envelope;
    const values = { 'duration.millis': ms, requests, retries, logins, ...(typeof code === 'string' && { [`failed.${code}`]: 1 }) };
    for (const [event, value] of Object.entries(values)) node.metric(event, message, value as number);
  } catch {
    // A failing metrics handler must not fail the message.
  }
}
