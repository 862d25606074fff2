import { applianceOf } from '../../contain/appliance';
import { keep, type ContainEvent } from '../../contain/keeper';
import { Canceller } from '../../model/cancelling';
import { badInput, GatewayError } from '../../model/error';
import { ours } from '../../model/sentence';
import type { Redactor } from '../../model/redaction';
import { OperationCall } from '../../run/call';
import type { Shared } from '../../run/shared';
import type { Initiator } from '../../journal/around';
import type { Permit } from '../../run/permissions';
import type { AroundWrite } from '../../run/writes';
import { handsOf } from './hands';

export interface KeepOptions {
  /** Who keeps, for the journal. */
  readonly by?: Initiator | undefined;
  /** Among those who keep at the same appliance, what is done is done by one of whom this is true, if there is one. */
  readonly contains?: boolean | undefined;
  /** Seconds from one look to the next; default 10. */
  readonly every?: number | undefined;
  /** Where it is kept who is kept out; looked into beside the memory and the folders that operations have named. */
  readonly folder?: string | undefined;
  /** A new session was ended, or a containment has come to its end. */
  readonly onEvent?: ((event: ContainEvent) => void) | undefined;
  /** Each look: how many are kept out, or what went wrong. */
  readonly onLook?: ((contained: number, fault: GatewayError | undefined) => void) | undefined;
}

/** What stands around the writes of a call, and which of them may leave. */
interface Guards {
  readonly around: (call: OperationCall) => AroundWrite;
  readonly permit: Permit | undefined;
}

/** See `Gateway.keepContained`. */
export function keepAt(shared: Shared, masking: Redactor, options: KeepOptions, { around, permit }: Guards): () => void {
  const { every = 10, folder, contains = false, onEvent, onLook } = options;
  if (!(every > 0 && every <= 86_400)) throw badInput('every has to be more than 0 and at most 86400 seconds.');
  const { origin, prefix, dryRun = false } = shared.settings;
  const stop = new AbortController();
  const leave = keep({
    appliance: applianceOf(origin + prefix),
    every,
    folder,
    contains,
    perform: (work, limitMs) => {
      const look = new Canceller();
      const unfollow = look.follow(stop.signal);
      const late = setTimeout(() => look.abort(), limitMs);
      let standing: AroundWrite | undefined;
      const call: OperationCall = new OperationCall(shared, {
        dryRun,
        masking,
        signal: look,
        permit,
        around: (write, proceed) => (standing ??= around(call))(write, proceed),
      });
      return work(handsOf(call)).finally(() => {
        clearTimeout(late);
        unfollow();
      });
    },
    onEvent: (event) => onEvent?.(event),
    onLook: (contained, fault) => onLook?.(contained, fault && new GatewayError(fault.code, ours(masking.message(fault)), fault.details)),
  });
  return () => {
    leave();
    stop.abort();
  };
}
