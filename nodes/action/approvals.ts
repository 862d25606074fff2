import { safeMessage } from '../../src/model/safe-message';
import type { Proposal, RequestApproval } from '../../src/run/approval';
import { PendingApprovals } from '../../src/run/pending-approvals';
import { badInput } from '../../src/model/error';
import type { AbortSignalLike } from '../../src/model/abort';
import type { OutputProperty } from '../message/output-property';
import { badConfig } from '../common/node-properties';
import { MAX_APPROVAL_MINUTES } from '../common/rules';
import type { Message } from '../message/typed-value';
import type { StatusReporter } from '../status/node-status';

const DEFAULT_APPROVAL_MINUTES = 60;

/** The decision to approve or reject a waiting message. It arrives in another message. */
export interface ApprovalDecision {
  readonly property: 'approve' | 'reject';
  readonly id: unknown;
}

/** Returns the decision if either property is set, so that an approving message never runs an operation itself. */
export function readApprovalDecision({ approve, reject }: Message & { approve?: unknown; reject?: unknown }): ApprovalDecision | undefined {
  // A message that sets both decides nothing. The waiting message keeps waiting.
  if (isSet(approve)) return { property: 'approve', id: isSet(reject) ? undefined : approve };
  return isSet(reject) ? { property: 'reject', id: reject } : undefined;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** One message that waits for approval. */
interface ApprovalRequest {
  /** The appliance node; undefined for an appliance without a node. */
  readonly applianceId: string | undefined;
  readonly message: Message & { actor?: unknown };
  readonly output: OutputProperty;
  readonly signal: AbortSignalLike;
  readonly send: (messages: (Message | null)[]) => void;
  readonly status: StatusReporter;
  /** The key of this run in the node status. */
  readonly run: object;
}

/** A waiting plan of any node. */
export interface WaitingPlan extends Pick<Proposal, 'operation' | 'appliance' | 'summary' | 'plan'> {
  readonly id: string;
  readonly node: string;
  readonly applianceId: string | undefined;
  readonly actor: string | undefined;
  readonly since: string;
  readonly expires: string;
  readonly decide: (decision: ApprovalDecision, actor: unknown) => void;
}

const waitingPlans = new Map<string, WaitingPlan>();
let onWaitingChanged = (): void => undefined;

/** Returns all plans of this process that wait for a decision, the oldest first. */
export function listWaitingPlans(): WaitingPlan[] {
  return [...waitingPlans.values()];
}

/** Sets the listener that is called when a plan starts or stops waiting. */
export function setWaitingListener(listener: () => void): void {
  onWaitingChanged = listener;
}

/** Decides on a waiting plan of any node. Errors: `BAD_INPUT` if no plan has this id. */
export function decideWaitingPlan({ property, id }: ApprovalDecision, actor: unknown): void {
  const waiting = typeof id === 'string' ? waitingPlans.get(id) : undefined;
  if (!waiting) throw badInput('No plan waits under this id. It was answered already, or has expired. Nothing was changed.');
  waiting.decide({ property, id }, actor);
}

/** Holds the messages of one node until somebody approves their plans (contract, section 6). */
export class WaitingPlansOfNode {
  readonly #approvals: PendingApprovals;
  /** Index of the approval output, which is the last one. */
  readonly #port: number;
  readonly #node: string;

  /** Reads the approval time. Errors: `BAD_CONFIG` if it is out of range. */
  constructor(node: string, minutes = DEFAULT_APPROVAL_MINUTES, port: number) {
    if (!(minutes > 0 && minutes <= MAX_APPROVAL_MINUTES)) {
      throw badConfig(
        safeMessage`approvalMinutes is ${minutes}, but must be more than 0 and at most ${MAX_APPROVAL_MINUTES}. Open the node and enter it again.`,
      );
    }
    this.#approvals = new PendingApprovals(minutes);
    this.#port = port;
    this.#node = node;
  }

  /** Returns a function that sends the plan to the approval output and waits for the decision. */
  createApprove({ applianceId, message, output, signal, send, status, run }: ApprovalRequest): RequestApproval {
    return async (proposal) => {
      const { id, expires, decision } = this.#approvals.add(signal, estimateBytes([message.payload, proposal]));
      const { operation, appliance, summary, plan } = proposal;
      const request = output.copy(message, ['payload', 'envelope']);
      const actor = typeof message.actor === 'string' && message.actor !== '' ? message.actor : undefined;
      const shown = { id, operation, appliance, summary, plan, expires };
      request.payload = { ...shown, ...(actor !== undefined && { actor }) };
      status.markAwaitingApproval(run);
      const since = new Date().toISOString();
      waitingPlans.set(id, { ...shown, node: this.#node, applianceId, actor, since, decide: (answer, by) => this.decide(answer, by) });
      onWaitingChanged();
      try {
        send([...new Array<null>(this.#port).fill(null), request]);
        return await decision;
      } finally {
        status.clearAwaitingApproval(run);
        waitingPlans.delete(id);
        onWaitingChanged();
      }
    };
  }

  /** Decides on a waiting plan of this node. Errors: `BAD_INPUT` if no plan has this id. */
  decide({ property, id }: ApprovalDecision, actor: unknown): void {
    if (id === undefined) throw badInput('msg.approve and msg.reject are both set, so nothing was decided. Set only one of them.');
    if (property === 'approve') this.#approvals.approve(id, actor);
    else this.#approvals.reject(id, actor);
  }
}

/** Estimated bytes per object, array or value, besides its text. */
const VALUE_BYTES = 16;

/** Estimates the memory of a value. Shared objects count once, and no value overflows the stack. */
function estimateBytes(root: unknown): number {
  let bytes = 0;
  const visited = new Set<object>();
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    bytes += VALUE_BYTES;
    if (typeof value === 'string') bytes += value.length;
    else if (ArrayBuffer.isView(value)) bytes += value.byteLength;
    else if (typeof value === 'object' && value !== null && !visited.has(value)) {
      visited.add(value);
      for (const name of Object.keys(value)) {
        bytes += name.length;
        pending.push((value as Record<string, unknown>)[name]);
      }
    }
  }
  return bytes;
}
