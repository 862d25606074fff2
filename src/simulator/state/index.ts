import { type UndocumentedState, createUndocumentedState } from './undocumented';
import { type ClusterState, seedCluster } from './cluster';
import { type CertificateState, seedCertificates } from './certificates';
import { type LicenseState, seedLicense } from './license';
import { LoginState } from './login';
import type { SimulatorSettings } from '../options';
import { seedConfiguration } from '../seed';
import { SessionStore } from './sessions';
import { createSystemState, type SystemState } from './system';
import { type TransferState, createTransferState } from './transfer';
import type { Resource } from '../tree';
import type { Variants } from '../variants';

/** Everything the appliance knows. Tests may read and change it while it runs, the variants included. */
export interface State {
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
  /** Undefined while the node is not in a cluster. */
  cluster: ClusterState | undefined;
}

export function createState(settings: SimulatorSettings): State {
  const login = new LoginState();
  return {
    settings,
    variants: settings.variants,
    configuration: seedConfiguration(settings, (username) => login.revoke(username)),
    login,
    sessions: new SessionStore(settings),
    license: seedLicense(settings),
    certificates: seedCertificates(settings.name),
    transfer: createTransferState(),
    undocumented: createUndocumentedState(),
    system: createSystemState(settings.name, settings.profile?.release || undefined),
    cluster: seedCluster(settings),
  };
}
