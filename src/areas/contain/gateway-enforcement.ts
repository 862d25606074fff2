import { hashApplianceAddress } from '../../contain/containment-record';
import { startEnforcement, type ContainEvent } from '../../contain/enforcement-loop';
import { LightAbortController } from '../../model/abort';
import { badInput, GatewayError } from '../../model/error';
import { safeMessage, trusted } from '../../model/safe-message';
import type { Redactor } from '../../model/redaction';
import { RunContext, type RunContextOptions } from '../../run/run-context';
import type { GatewayContext } from '../../run/gateway-context';
import type { Initiator } from '../../journal/record-writes';
import type { WriteInterceptor } from '../../run/pending-write';
import { containmentActionsFor } from './containment-actions';

export interface EnforcementOptions {
  /** The initiator in the journal. */
  readonly initiator?: Initiator | undefined;
  /** Prefers this participant over others of the same appliance. Set it for a node that contains people. */
  readonly canContain?: boolean | undefined;
  /** Seconds between two polls; default 10. */
  readonly every?: number | undefined;
  /** A folder with containments. It is read in addition to the memory and to the folders of earlier operations. */
  readonly folder?: string | undefined;
  /** Called when a new session was ended or a containment reached its end. */
  readonly onEvent?: ((event: ContainEvent) => void) | undefined;
  /** Called after each poll with the number of contained people, and with the error if there was one. */
  readonly onPoll?: ((contained: number, fault: GatewayError | undefined) => void) | undefined;
}

/** Checks and interceptors of the writes. */
interface WriteGuards {
  readonly check: NonNullable<RunContextOptions['checkWrite']>;
  readonly createInterceptor: (call: RunContext) => WriteInterceptor;
}

/** Starts the enforcement, as `Gateway.enforceContainments` describes. */
export function startGatewayEnforcement(
  gatewayContext: GatewayContext,
  masker: Redactor,
  options: EnforcementOptions,
  { check, createInterceptor }: WriteGuards,
): () => void {
  const { every = 10, folder, canContain = false, onEvent, onPoll } = options;
  if (!(every > 0 && every <= 86_400)) throw badInput(safeMessage`every is ${every}; it must be more than 0 and at most 86400 seconds.`);
  const { origin, prefix, dryRun = false } = gatewayContext.settings;
  const stopController = new AbortController();
  const leaveLoop = startEnforcement({
    appliance: hashApplianceAddress(origin + prefix),
    every,
    folder,
    signer: gatewayContext.signer,
    canContain,
    perform: (work, timeLimitMs) => {
      const canceller = new LightAbortController();
      const stopFollowing = canceller.follow(stopController.signal);
      const timer = setTimeout(() => canceller.abort(), timeLimitMs);
      let interceptor: WriteInterceptor | undefined;
      const call: RunContext = new RunContext(gatewayContext, {
        dryRun,
        masker,
        signal: canceller,
        checkWrite: check,
        interceptWrite: (write, next) => (interceptor ??= createInterceptor(call))(write, next),
      });
      return work(containmentActionsFor(call)).finally(() => {
        clearTimeout(timer);
        stopFollowing();
      });
    },
    onEvent: (event) => onEvent?.(event),
    onPoll: (contained, fault) => onPoll?.(contained, fault && new GatewayError(fault.code, trusted(masker.message(fault)), fault.details)),
  });
  return () => {
    leaveLoop();
    stopController.abort();
  };
}
