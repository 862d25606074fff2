import { join } from 'node:path';
import type { Node, NodeAPI } from 'node-red';
import type { GatewayOptions } from '../../src/gateway/gateway';
import type { ExchangeLogEntry } from '../../src/http/exchange-log';
import { isObject } from '../../src/model/json';
import type { Message } from '../message/typed-value';
import { recordRun, toInventoryEntryKey, toApplianceNodeKey } from '../overview/appliance-facts';
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

/** The latest runtime, for gateways of an inventory, which outlive their nodes. */
let latestRuntime: NodeAPI | undefined;

/** Sets the runtime that diagnostics use. */
export function setNodeRedRuntime(red: NodeAPI): void {
  latestRuntime = red;
}

/** Returns the state folder of this package in the user directory of Node-RED, which no flow names. */
export function getPackageStateFolder(): string | undefined {
  const userDir = latestRuntime?.settings.userDir;
  return typeof userDir === 'string' && userDir !== '' ? join(userDir, 'gateway-admin') : undefined;
}

/** The gateway options that Node-RED adds. */
type DiagnosticsOptions = Pick<GatewayOptions, 'onExchange' | 'onRunEnd' | 'hostInfo' | 'stateFolder'>;

/**
 * Returns the callbacks for the log and the sidebar, and the facts that Node-RED adds to a support bundle. `id` is the appliance node; an
 * inventory has none.
 */
export function createDiagnosticsOptions(id?: string, url?: unknown): DiagnosticsOptions {
  const nodeKey = id === undefined ? undefined : toApplianceNodeKey(id, url);
  return {
    stateFolder: getPackageStateFolder(),
    onRunEnd: (run) => recordRun(nodeKey ?? toInventoryEntryKey(run.envelope.appliance), run),
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

/** Returns the version of Node-RED, which the settings contain but their types omit. */
function readNodeRedVersion({ settings }: NodeAPI): string {
  const { version } = settings as { version?: unknown };
  return typeof version === 'string' ? version : 'unknown';
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
