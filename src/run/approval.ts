import { createHash } from 'node:crypto';
import type { AbortSignalLike } from '../model/abort';
import { rejectOnAbort } from '../model/abort';
import type { PlannedRequest } from '../model/envelope';
import { GatewayError } from '../model/error';
import { sortKeys } from '../model/json';
import { toJsonText } from '../model/json-text';
import type { Request } from '../model/request';
import { safeMessage } from '../model/safe-message';
import type { WriteGate, PendingWrite } from './pending-write';

/** What somebody is asked to approve: all that would be written, secrets masked. */
export interface Proposal {
  readonly operation: string;
  readonly appliance: string;
  /** One sentence for people. */
  readonly summary: string;
  readonly plan: readonly PlannedRequest[];
  /** It does something that lasts, though it would send nothing now. */
  readonly wouldChange?: boolean;
}

/** Who approved, as far as that is known, and when. */
export interface ApprovalRecord {
  readonly by: string | null;
  readonly at: string;
}

/** Asked before anything is written. Resolves when the plan is approved; the error that it rejects with is the outcome of the run. */
export type RequestApproval = (proposal: Proposal) => Promise<ApprovalRecord>;

/** Runs the operation without writing, each of its writes through that gate; gives what it would do. */
export type CreateProposal = (gate: WriteGate) => Promise<Proposal>;

/**
 * Holds a run until its plan is approved, and lets it do nothing beyond that (contract, section 6). What was approved is known by hashes of
 * what would really be sent: a plan that people see has its secrets masked.
 */
export class Approval implements WriteGate {
  readonly #approve: RequestApproval;
  readonly #allowed = new Map<string, number>();
  #remaining = new Map<string, number>();

  constructor(approve: RequestApproval) {
    this.#approve = approve;
  }

  /**
   * Plans, asks, and plans again: what came to be different in between is found before anything is sent. Nobody is asked where nothing would be
   * done. Errors: `CONFLICT`, what the decision ends with, `ABORTED` when the run is cancelled.
   */
  async obtain(
    createProposal: CreateProposal,
    signal: AbortSignalLike | undefined,
    onApproved: (approved: ApprovalRecord) => void,
  ): Promise<void> {
    const proposal = await createProposal({
      assertAllowed: async (write) => this.#allow(await fingerprintWithDigest(write)),
      isAllowed: (request) => {
        this.#allow(hashWrite({ request }));
        return true;
      },
    });
    if (proposal.plan.length === 0 && proposal.wouldChange !== true) return;
    const approved = await rejectOnAbort(
      this.#approve(proposal),
      signal,
      'Cancelled while it waited to be approved, or deployed anew. Nothing was changed.',
    );
    onApproved(approved);
    this.#remaining = new Map(this.#allowed);
    await createProposal(this);
    this.#remaining = new Map(this.#allowed);
  }

  /** Errors: `CONFLICT` for a write that was not approved. */
  async assertAllowed(write: PendingWrite): Promise<void> {
    if (this.#consume(await fingerprintWithDigest(write))) return;
    const { method, path } = write.request;
    throw new GatewayError(
      'CONFLICT',
      safeMessage`This is not what was approved: ${method} ${path} would be sent, but it was not in the plan, or something has changed since. Send the message again, to have it approved as it is now.`,
      { sent: false, extra: { beyond: { method, path } } },
    );
  }

  isAllowed(request: Request): boolean {
    return this.#consume(hashWrite({ request }));
  }

  #allow(print: string): void {
    this.#allowed.set(print, (this.#allowed.get(print) ?? 0) + 1);
  }

  /** Each may be sent as often as it was planned. */
  #consume(print: string): boolean {
    const remaining = this.#remaining.get(print) ?? 0;
    if (remaining > 0) this.#remaining.set(print, remaining - 1);
    return remaining > 0;
  }
}

async function fingerprintWithDigest(write: PendingWrite): Promise<string> {
  return hashWrite(write, await write.digest?.());
}

/** Of all that is sent. The order of keys says nothing: appliances give it as they like. */
function hashWrite({ request, plannedBody }: PendingWrite, digest?: string): string {
  const { method, path, query, rawQuery, body } = request;
  const sent = { method, path, query, rawQuery, body, shown: plannedBody, digest };
  return createHash('sha256').update(toJsonText(sent, sortKeys)).digest('base64');
}
