import { createHash } from 'node:crypto';
import type { AbortSignalLike } from '../model/abort';
import { rejectOnAbort } from '../model/abort';
import type { PlannedRequest } from '../model/envelope';
import { GatewayError } from '../model/error';
import { sortKeysReplacer } from '../model/json';
import { toJsonText } from '../model/json-text';
import type { Request } from '../model/request';
import { safeMessage } from '../model/safe-message';
import type { WriteGuard, PendingWrite } from './pending-write';

/** The plan that somebody approves: all writes of the run, with secrets masked. */
export interface Proposal {
  readonly operation: string;
  readonly appliance: string;
  /** One sentence for people. */
  readonly summary: string;
  readonly plan: readonly PlannedRequest[];
  /** The run has a lasting effect although it sends no write now. */
  readonly wouldChange?: boolean;
}

/** The person who approved, if known, and the time. */
export interface ApprovalRecord {
  readonly by: string | null;
  readonly at: string;
}

/** Called before anything is written. It resolves when the plan is approved; the run fails with the error that it rejects with. */
export type RequestApproval = (proposal: Proposal) => Promise<ApprovalRecord>;

/** Runs the operation without writing, passes each write through `gate`, and returns the plan. */
type CreateProposal = (gate: WriteGuard) => Promise<Proposal>;

/**
 * Holds a run until its plan is approved, and lets only approved writes pass (contract, section 6). It compares hashes of the unmasked
 * writes, because the visible plan is masked.
 */
export class Approval implements WriteGuard {
  readonly #approve: RequestApproval;
  readonly #allowed = new Map<string, number>();
  #remaining = new Map<string, number>();

  constructor(approve: RequestApproval) {
    this.#approve = approve;
  }

  /**
   * Plans, asks, and plans again, so that a change in between is found before anything is sent. An empty plan needs no approval. Errors:
   * `CONFLICT`, the error of the decision, `ABORTED` when the run is canceled.
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
      'Canceled while waiting for approval, or redeployed. Nothing was changed.',
    );
    onApproved(approved);
    this.#remaining = new Map(this.#allowed);
    await createProposal(this);
    this.#remaining = new Map(this.#allowed);
  }

  /** Checks a write against the approved plan. Errors: `CONFLICT` for a write that was not approved. */
  async assertAllowed(write: PendingWrite): Promise<void> {
    if (this.#consume(await fingerprintWithDigest(write))) return;
    const { method, path } = write.request;
    throw new GatewayError(
      'CONFLICT',
      safeMessage`This write was not approved: ${method} ${path} is not in the approved plan, or the appliance has changed since. It was not sent. Send the message again for a new approval.`,
      { sent: false, extra: { beyond: { method, path } } },
    );
  }

  isAllowed(request: Request): boolean {
    return this.#consume(hashWrite({ request }));
  }

  #allow(print: string): void {
    this.#allowed.set(print, (this.#allowed.get(print) ?? 0) + 1);
  }

  /** Uses up one planned write. A write may be sent as often as it was planned. */
  #consume(print: string): boolean {
    const remaining = this.#remaining.get(print) ?? 0;
    if (remaining > 0) this.#remaining.set(print, remaining - 1);
    return remaining > 0;
  }
}

async function fingerprintWithDigest(write: PendingWrite): Promise<string> {
  return hashWrite(write, await write.digest?.());
}

/** Hashes everything that is sent. The order of keys is ignored, because appliances return keys in any order. */
function hashWrite({ request, plannedBody }: PendingWrite, digest?: string): string {
  const { method, path, query, rawQuery, body } = request;
  const sent = { method, path, query, rawQuery, body, shown: plannedBody, digest };
  return createHash('sha256').update(toJsonText(sent, sortKeysReplacer)).digest('base64');
}
