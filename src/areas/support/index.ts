import { asGatewayError } from '../../model/error';
import { OUT_OF_REACH } from '../../model/error-codes';
import { isoTime } from '../../model/envelope';
import type { Finding } from '../../model/call';
import { isObject, type JsonObject } from '../../model/json';
import type { Call } from '../../model/operation';
import { findingsIn, idleFinding } from './findings';
import { versions } from './versions';

export interface Bundle {
  readonly format: 'gateway-support/1';
  readonly at: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Model and release, or why they could not be read. */
  readonly appliance: JsonObject;
  readonly settings: JsonObject;
  readonly counters: object;
  readonly exchanges: readonly object[];
  readonly findings: readonly Finding[];
}

/**
 * Everything that whoever helps wants to know, and nothing that they must not: no secret, no name, address, account, serial number or place. Made
 * also of an appliance that does not answer. Errors: `ABORTED`.
 */
export async function supportBundle(call: Call): Promise<Bundle> {
  // Before anything is asked for its sake.
  const { settings, counters, exchanges, host } = call.support;
  const { appliance, away } = await applianceOf(call);
  const idle = away ? [] : await idleFinding(call, call.settings.realm || undefined);
  const findings = [...findingsIn(call.support), ...idle, ...(host.findings ?? [])];
  return {
    format: 'gateway-support/1',
    at: isoTime(),
    versions: { ...versions(), ...host.versions },
    appliance,
    settings,
    counters,
    exchanges,
    findings,
  };
}

/** What it tells of itself, or why it does not; `away` where nothing else need be asked. */
async function applianceOf(call: Call): Promise<{ appliance: JsonObject; away: boolean }> {
  try {
    const document = await call.read({ method: 'GET', path: '/api/v1/system/system-information' });
    const { 'system-information': nested } = document;
    const system = isObject(nested) ? nested : document;
    const names = ['hardware-model', 'os-name', 'os-version'];
    return { appliance: Object.fromEntries(names.map((name) => [name, textOf(system[name])])), away: false };
  } catch (thrown) {
    const { code, details } = asGatewayError(thrown);
    if (code === 'ABORTED') throw thrown;
    const { status, system } = details;
    const appliance = { code, ...(status !== undefined && { status }), ...(system && { system }) };
    return { appliance, away: OUT_OF_REACH.has(code) };
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value.slice(0, 100) : null;
}
