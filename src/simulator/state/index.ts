import { type BeyondState, newBeyond } from './beyond';
import { type ClusterState, seedCluster } from './cluster';
import { type CertificateState, seedCertificates } from './certificates';
import { type LicenseState, seedLicense } from './license';
import { LoginState } from './login';
import type { Settings } from '../options';
import { seedConfiguration } from '../seed';
import { SessionStore } from './sessions';
import { newSystem, type SystemState } from './system';
import { type TransferState, newTransfer } from './transfer';
import type { Resource } from '../tree';
import type { Variants } from '../variants';

/** Everything the appliance knows. Tests may read and change it while it runs, the variants included. */
export interface State {
  readonly settings: Settings;
  readonly variants: Variants;
  readonly configuration: Resource;
  readonly login: LoginState;
  readonly sessions: SessionStore;
  readonly license: LicenseState;
  readonly certificates: CertificateState;
  readonly transfer: TransferState;
  readonly beyond: BeyondState;
  readonly system: SystemState;
  /** Undefined while the node is not in a cluster. */
  cluster: ClusterState | undefined;
}

export function createState(settings: Settings): State {
  const login = new LoginState();
  return {
    settings,
    variants: settings.variants,
    configuration: seedConfiguration(settings, (username) => login.revoke(username)),
    login,
    sessions: new SessionStore(settings),
    license: seedLicense(settings),
    certificates: seedCertificates(settings.name),
    transfer: newTransfer(),
    beyond: newBeyond(),
    system: newSystem(settings.name),
    cluster: seedCluster(settings),
  };
}
