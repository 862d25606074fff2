/** The answer of `GET /gateway-appliance/overview`. */
export interface Overview {
  readonly total: number;
  readonly appliances: readonly ApplianceState[];
}

interface Timed<T> {
  readonly at: string;
  readonly value: T;
}

export interface ApplianceState {
  readonly id?: string;
  readonly inventory?: string;
  readonly name: string;
  readonly url: string;
  readonly fault?: string;
  readonly contact?: Timed<{ readonly code: string | null; readonly message: string | null }>;
  readonly sessions?: Timed<number>;
  readonly licenses?: Timed<readonly { readonly name: string; readonly value: number }[] | string>;
  readonly backup?: Timed<{ readonly ok: boolean; readonly text: string; readonly changed: boolean | null }>;
  readonly journal: boolean;
  readonly contained: readonly Contained[];
  readonly waiting: readonly WaitingPlan[];
  readonly outcomes: readonly Outcome[];
  readonly problems: readonly string[];
  /** Whether the runtime does not know the appliance yet. */
  readonly undeployed?: boolean;
}

interface Contained {
  readonly name?: string;
  readonly 'source-ip'?: string;
  readonly until: string;
}

export interface PlannedRequest {
  readonly method: string;
  readonly path: string;
}

export interface WaitingPlan {
  readonly id: string;
  readonly node: string;
  readonly summary: string;
  readonly actor?: string;
  readonly since: string;
  readonly expires: string;
  readonly plan: readonly PlannedRequest[];
}

export interface Outcome {
  readonly at: string;
  readonly operation: string;
  readonly ok: boolean | null;
  readonly code: string | null;
  readonly changed: boolean | null;
  readonly summary: string | null;
  readonly target: string | null;
  readonly actor: string | null;
  readonly node: string | null;
  readonly undo: readonly string[];
  readonly undone: boolean;
}
