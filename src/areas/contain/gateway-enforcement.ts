import { toApplianceHash } from '../../contain/appliance-hash';
import { startEnforcement, type ContainEvent } from '../../contain/enforcement-loop';
import { LightAbortController } from '../../model/abort';
import { badInput, GatewayError } from '../../model/error';
import { trusted } from '../../model/safe-message';
import type { Redactor } from '../../model/redaction';
import { RunContext } from '../../run/run-context';
import type { GatewayContext } from '../../run/gateway-context';
import type { Initiator } from '../../journal/record-writes';
import type { CheckPermission } from '../../run/permissions';
import type { WriteInterceptor } from '../../run/write-runner';
import { containmentActionsFor } from './containment-actions';

export interface EnforcementOptions {
  /** Who keeps, for the journal. */
  readonly initiator?: Initiator | undefined;
  /** Among those who keep at the same appliance, what is done is done by one of whom this is true, if there is one. */
  readonly canContain?: boolean | undefined;
  /** Seconds from one look to the next; default 10. */
  readonly every?: number | undefined;
  /** Where it is kept who is kept out; looked into beside the memory and the folders that operations have named. */
  readonly folder?: string | undefined;
  /** A new session was ended, or a containment has come to its end. */
  readonly onEvent?: ((event: ContainEvent) => void) | undefined;
  /** Each look: how many are kept out, or what went wrong. */
  readonly onPoll?: ((contained: number, fault: GatewayError | undefined) => void) | undefined;
}

/** What stands around the writes of a call, and which of them may leave. */
interface WriteGuards {
  readonly createInterceptor: (call: RunContext) => WriteInterceptor;
  readonly permit: CheckPermission | undefined;
}

/** See `Gateway.keepContained`. */
export function startGatewayEnforcement(
  gatewayContext: GatewayContext,
  masker: Redactor,
  options: EnforcementOptions,
  { createInterceptor, permit: checkPermission }: WriteGuards,
): () => void {
  const { every = 10, folder, canContain = false, onEvent, onPoll } = options;
  if (!(every > 0 && every <= 86_400)) throw badInput('every has to be more than 0 and at most 86400 seconds.');
  const { origin, prefix, dryRun = false } = gatewayContext.settings;
  const stopController = new AbortController();
  const leaveLoop = startEnforcement({
    appliance: toApplianceHash(origin + prefix),
    every,
    folder,
    canContain,
    perform: (work, limitMs) => {
      const canceller = new LightAbortController();
      const unfollow = canceller.follow(stopController.signal);
      const timer = setTimeout(() => canceller.abort(), limitMs);
      let interceptor: WriteInterceptor | undefined;
      const call: RunContext = new RunContext(gatewayContext, {
        dryRun,
        masker,
        signal: canceller,
        checkPermission,
        interceptWrite: (write, next) => (interceptor ??= createInterceptor(call))(write, next),
      });
      return work(containmentActionsFor(call)).finally(() => {
        clearTimeout(timer);
        unfollow();
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
