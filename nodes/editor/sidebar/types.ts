import type { PlannedRequest } from '../../../src/model/envelope';
import type { LastBackup, LastContact, ValueWithTime } from '../../overview/appliance-facts';
import type { SidebarOutcome } from '../../overview/outcomes';

/** The answer of `GET /gateway-appliance/overview`. */
export interface SidebarOverview {
  readonly total: number;
  readonly appliances: readonly SidebarAppliance[];
}

/** One appliance in the sidebar, as JSON of the overview. */
export interface SidebarAppliance {
  readonly id?: string;
  readonly inventory?: string;
  readonly name: string;
  readonly url: string;
  readonly fault?: string;
  readonly contact?: ValueWithTime<LastContact>;
  readonly sessions?: ValueWithTime<number>;
  readonly licenses?: ValueWithTime<readonly { readonly name: string; readonly value: number }[] | string>;
  readonly backup?: ValueWithTime<LastBackup>;
  readonly journal: boolean;
  readonly contained: readonly ContainedSubject[];
  readonly waiting: readonly SidebarWaitingPlan[];
  readonly outcomes: readonly SidebarOutcome[];
  readonly problems: readonly string[];
  /** Whether the runtime does not know the appliance yet. */
  readonly undeployed?: boolean;
}

interface ContainedSubject {
  readonly name?: string;
  readonly 'source-ip'?: string;
  readonly until: string;
}

/** A plan that waits for a decision in the sidebar. */
export interface SidebarWaitingPlan {
  readonly id: string;
  readonly node: string;
  readonly summary: string;
  readonly actor?: string;
  readonly since: string;
  readonly expires: string;
  readonly plan: readonly PlannedRequest[];
}
