import { sentence } from '../src/model/sentence';
import type { Approve } from '../src/run/approval';
import { Approvals } from '../src/run/approvals';
import { badInput } from '../src/model/error';
import type { Cancellable } from '../src/model/cancelling';
import type { Output } from './output';
import { badConfig } from './properties';
import { MOST_MINUTES } from './rules';
import type { Message } from './sources';
import type { Status } from './status';

const MINUTES = 60;

/** What a message wants done with one that waits. */
export interface Answer {
  readonly property: 'approve' | 'reject';
  readonly id: unknown;
}

/** Set at all: a message that was to approve something must not come to run something itself. */
export function answerOf({ approve, reject }: Message & { approve?: unknown; reject?: unknown }): Answer | undefined {
  // Both at once is neither; whoever waits goes on waiting.
  if (isSet(approve)) return { property: 'approve', id: isSet(reject) ? undefined : approve };
  return isSet(reject) ? { property: 'reject', id: reject } : undefined;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** One message that would write. */
interface Asking {
  readonly message: Message & { actor?: unknown };
  readonly output: Output;
  readonly signal: Cancellable;
  readonly send: (messages: (Message | null)[]) => void;
  readonly status: Status;
  /** As the status knows it. */
  readonly run: object;
}

/** Holds the messages of one node until somebody approves what they would do (contract, section 6). */
export class Approver {
  readonly #approvals: Approvals;
  /** Index of its output, the last. */
  readonly #port: number;

  /** Errors: `BAD_CONFIG` for a time that cannot be waited. */
  constructor(minutes = MINUTES, port: number) {
    if (!(minutes > 0 && minutes <= MOST_MINUTES)) {
      throw badConfig(sentence`approvalMinutes has to be more than 0 and at most ${MOST_MINUTES}. Open the node and enter it again.`);
    }
    this.#approvals = new Approvals(minutes);
    this.#port = port;
  }

  /** Sends the plan out, and waits for the answer to it. */
  asks({ message, output, signal, send, status, run }: Asking): Approve {
    return async (proposal) => {
      const { id, expires, decision } = this.#approvals.hold(signal);
      const { operation, appliance, summary, plan } = proposal;
      const asked = output.copy(message, ['payload', 'envelope']);
      const actor = typeof message.actor === 'string' && message.actor !== '' ? { actor: message.actor } : {};
      asked.payload = { id, operation, appliance, summary, plan, expires, ...actor };
      status.hold(run);
      try {
        send([...new Array<null>(this.#port).fill(null), asked]);
        return await decision;
      } finally {
        status.release(run);
      }
    };
  }

  /** Errors: `BAD_INPUT` for an id that nothing waits under. */
  decide({ property, id }: Answer, by: unknown): void {
    if (id === undefined) throw badInput('msg.approve and msg.reject are both set. Set the one that is meant: nothing was decided.');
    if (property === 'approve') this.#approvals.approve(id, by);
    else this.#approvals.reject(id, by);
  }
}
