import { asGatewayError } from '../../model/error';
import { UNREACHABLE_CODES } from '../../model/error-codes';
import { getCurrentIsoTime } from '../../model/envelope';
import type { Finding } from '../../model/operation-context';
import type { JsonObject } from '../../model/json';
import type { OperationContext } from '../../model/operation';
import { unwrapSystemInformation } from '../../run/identity';
import { collectSupportFindings, findShortIdleTimeout } from './findings';
import { readComponentVersions } from './versions';

export interface SupportBundle {
  readonly format: 'gateway-support/1';
  readonly at: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Model and release, or the reason why they could not be read. */
  readonly appliance: JsonObject;
  readonly settings: JsonObject;
  readonly counters: object;
  readonly exchanges: readonly object[];
  readonly findings: readonly Finding[];
}

/**
 * Collects diagnostics for support, without secrets, names, addresses, accounts, serial numbers or file paths. Works without a
 * connection to the appliance. Errors: `ABORTED`.
 */
export async function createSupportBundle(call: OperationContext): Promise<SupportBundle> {
  // Read first, so that the requests below do not appear in the bundle.
  const { settings, counters, exchanges, host } = call.supportInfo;
  const { appliance, isUnreachable } = await readAppliance(call);
  const idle = isUnreachable ? [] : await findShortIdleTimeout(call, call.settings.realm || undefined);
  const findings = [...collectSupportFindings(call.supportInfo), ...idle, ...(host.findings ?? [])];
  return {
    format: 'gateway-support/1',
    at: getCurrentIsoTime(),
    versions: { ...readComponentVersions(), ...host.versions },
    appliance,
    settings,
    counters,
    exchanges,
    findings,
  };
}

/** Reads model and release, or the error; `isUnreachable` means that further requests would fail too. */
async function readAppliance(call: OperationContext): Promise<{ appliance: JsonObject; isUnreachable: boolean }> {
  try {
    const document = await call.read({ method: 'GET', path: '/api/v1/system/system-information' });
    const system = unwrapSystemInformation(document);
    const names = ['hardware-model', 'os-name', 'os-version'];
    return { appliance: Object.fromEntries(names.map((name) => [name, toShortText(system[name])])), isUnreachable: false };
  } catch (thrown) {
    const { code, details } = asGatewayError(thrown);
    if (code === 'ABORTED') throw thrown;
    const { status, system } = details;
    const appliance = { code, ...(status !== undefined && { status }), ...(system && { system }) };
    return { appliance, isUnreachable: UNREACHABLE_CODES.has(code) };
  }
}

function toShortText(value: unknown): string | null {
  return typeof value === 'string' ? value.slice(0, 100) : null;
}
