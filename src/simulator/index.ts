import { once } from 'node:events';
import { type AddressInfo, isIP } from 'node:net';
import { selfSigned } from './certificate';
import type { FaultRule } from './faults';
import { incidentsFor } from './incidents';
import { buildCopy } from './copy/build-copy';
import { saveSnapshot } from './copy/save-snapshot';
import { type SimulatedFleet, createSimulatedFleet } from './simulated-fleet';
import { type SimulatorOptions, resolveOptions } from './options';
import { type RequestLogEntry, ApplianceServer } from './server';
import type { Simulator } from './simulator';
import { type ApplianceState, createState } from './state';

export type { FaultRule, RequestLogEntry, Simulator, SimulatorOptions, ApplianceState };
export type { SecondFactor } from './options';
export type { Incidents } from './incidents';
export type { ScriptOptions, SessionScript } from './session-script';
export type { UndocumentedState } from './state/undocumented';
export type { CertificateState } from './state/certificates';
export type { ClusterState, ClusterMember } from './state/cluster';
export type { LicenseState, NamedUser } from './state/license';
export type { ApiKey, LoginState, LoginInProgress } from './state/login';
export type { SessionStore } from './state/sessions';
export type { SystemState } from './state/system';
export type { TransferState } from './state/transfer';
export type { Collection, Resource } from './tree';
export { type Variant, type Variants, type VariantValue, VARIANTS, defaultVariants } from './variants';
export { computeTotpCode } from './totp';
export { issueCertificate, selfSigned, type KeyPair } from './certificate';
export type { SnapshotCounts } from './copy/save-snapshot';
export type { SimulatedFleet } from './simulated-fleet';

/** Starts an appliance on a loopback address. Rejects with a plain sentence if an option is invalid or the port is taken. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const settings = resolveOptions(options);
  const { from } = settings;
  const copy = from === undefined ? undefined : buildCopy(Array.isArray(from) ? from : [from], settings);
  if (options.name === undefined && copy?.source.appliance !== undefined) settings.name = copy.source.appliance;
  const state = createState(settings, copy);
  const tls = settings.tls ?? selfSigned([settings.host, settings.name].filter((name) => isIP(name) > 0 || /^[A-Za-z0-9.-]+$/.test(name)));
  const server = new ApplianceServer(state, tls);
  server.https.listen(settings.port, settings.host);
  await once(server.https, 'listening');
  const { port } = server.https.address() as AddressInfo;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  return {
    url: `https://${host}:${port}${settings.pathPrefix}`,
    port,
    ca: tls.cert,
    username: settings.username,
    password: settings.password,
    state,
    requests: server.requests,
    get logins() {
      return state.login.attempts;
    },
    get openConnections() {
      return server.sockets.size;
    },
    get totalConnections() {
      return server.totalConnections;
    },
    expireKeys: () => state.login.keys.clear(),
    fault: (rule) => server.faults.add(rule),
    clearFaults: () => server.faults.clear(),
    replaceCertificate: (other) => server.https.setSecureContext(other),
    onHandshake: (listener) => void server.https.on('secureConnection', listener),
    ...incidentsFor(state, server),
    save: (folder) => saveSnapshot(state, folder),
    close: () => server.stop(),
  };
}

/** Starts many thin appliances in this process, `vpn-001` and so on. */
export function startSimulatedFleet(count: number, options: SimulatorOptions = {}): Promise<SimulatedFleet> {
  return createSimulatedFleet(count, startSimulator, options);
}
