import { type UndocumentedState, createUndocumentedState } from './undocumented';
import { type ClusterState, seedCluster } from './cluster';
import { type CertificateState, seedCertificates } from './certificates';
import { type LicenseState, seedLicense } from './license';
import { LoginState } from './login';
import type { ConfigurationCopy } from '../copy/build-copy';
import { type CopyAdministrator, findCopyAdministrator } from '../copy/copy-login';
import { listSessionRealms } from '../copy/copy-people';
import type { SimulatorSettings } from '../options';
import { seedConfiguration } from '../seed';
import { SessionStore } from './sessions';
import { createSystemState, type SystemState } from './system';
import { type TransferState, createTransferState } from './transfer';
import type { Resource } from '../tree';
import type { Variants } from '../variants';

/** The state of the appliance, including the variants. Tests may read and change it while it runs. */
export interface ApplianceState {
  readonly settings: SimulatorSettings;
  readonly variants: Variants;
  readonly configuration: Resource;
  readonly login: LoginState;
  readonly sessions: SessionStore;
  readonly license: LicenseState;
  readonly certificates: CertificateState;
  readonly transfer: TransferState;
  readonly undocumented: UndocumentedState;
  readonly system: SystemState;
  /** The configuration of another appliance; undefined for the simulator's own. */
  readonly copy: (ConfigurationCopy & { readonly administrator: CopyAdministrator }) | undefined;
  /** Undefined while the node is not in a cluster. */
  cluster: ClusterState | undefined;
}

export function createState(settings: SimulatorSettings, copy?: ConfigurationCopy): ApplianceState {
  const login = new LoginState();
  const realms = copy ? listSessionRealms(copy) : [];
  const system = createSystemState(settings.name, settings.profile?.release || undefined);
  if (copy?.source.serialNumber !== undefined) system.serialNumber = copy.source.serialNumber;
  if (copy?.source.release !== undefined) system.release = copy.source.release;
  return {
    settings,
    variants: settings.variants,
    configuration: copy?.root ?? seedConfiguration(settings, (username) => login.revoke(username)),
    login,
    sessions: new SessionStore(settings, realms),
    license: seedLicense(settings, realms),
    certificates: seedCertificates(settings.name),
    transfer: createTransferState(),
    undocumented: createUndocumentedState(),
    system,
    copy: copy && { ...copy, administrator: findCopyAdministrator(copy, settings) },
    cluster: seedCluster(settings),
  };
}
