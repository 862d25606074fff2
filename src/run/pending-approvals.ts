import { randomUUID } from 'node:crypto';
import type { AbortSignalLike } from '../model/abort';
import { badInput, GatewayError } from '../model/error';
import { trusted, safeMessage } from '../model/safe-message';
import type { ApprovalRecord } from './approval';

/** Maximum number of pending approvals, because each keeps a message in memory. */
const MAX_PENDING = 100;
/** All pending approvals of the process together, so that many nodes cannot exhaust the memory. */
const MAX_PENDING_BYTES = 64 * 2 ** 20;
const MAX_NAME_LENGTH = 200;

let pendingBytes = 0;

/** A plan that waits for a decision. Its id is all that is needed to answer it. */
export interface PendingApproval {
  readonly id: string;
  /** ISO time. */
  readonly expires: string;
  readonly decision: Promise<ApprovalRecord>;
}

interface PendingEntry {
  readonly expires: number;
  readonly settle: (approved: ApprovalRecord | GatewayError) => void;
}

/** Plans that wait for an answer. Each has an unguessable id that is good for one answer. */
export class PendingApprovals {
  readonly #pending = new Map<string, PendingEntry>();
  readonly #expiryMs: number;
  readonly #now: () => number;

  constructor(minutes: number, now: () => number = Date.now) {
    this.#expiryMs = minutes * 60_000;
    this.#now = now;
  }

  /**
   * `bytes` is the size of what waits. Errors: `LIMIT` when too many or too large messages wait; the decision rejects with `DECLINED` or
   * `EXPIRED`. A canceled one is removed.
   */
  add(signal: AbortSignalLike | undefined, bytes = 0): PendingApproval {
    if (signal?.aborted) throw new GatewayError('ABORTED', 'Canceled before the approval was requested.', { sent: false });
    if (this.#pending.size >= MAX_PENDING) {
      throw new GatewayError(
        'LIMIT',
        `${MAX_PENDING} messages wait for approval already. Answer some of them first. Nothing was changed.`,
        {
          sent: false,
        },
      );
    }
    if (pendingBytes + bytes > MAX_PENDING_BYTES) {
      throw new GatewayError(
        'LIMIT',
        `The messages that wait for approval would use more than ${MAX_PENDING_BYTES / 2 ** 20} MiB. Decide on some of them first, or send a smaller message. Nothing was changed.`,
        { sent: false },
      );
    }
    pendingBytes += bytes;
    const id = randomUUID();
    const expires = this.#now() + this.#expiryMs;
    const decision = new Promise<ApprovalRecord>((resolve, reject) => {
      const timer = setTimeout(() => this.#remove(id)?.settle(createExpiredError()), this.#expiryMs);
      let isPending = true;
      const forget = (): void => {
        if (isPending) pendingBytes -= bytes;
        isPending = false;
        clearTimeout(timer);
        this.#pending.delete(id);
        signal?.removeEventListener('abort', forget);
      };
      const settle: PendingEntry['settle'] = (outcome) => {
        forget();
        if (outcome instanceof GatewayError) reject(outcome);
        else resolve(outcome);
      };
      this.#pending.set(id, { expires, settle });
      signal?.addEventListener('abort', forget, { once: true });
    });
    // After a cancellation, nobody waits for the decision.
    decision.catch(() => undefined);
    return { id, expires: new Date(expires).toISOString(), decision };
  }

  /** Approves a plan. Errors: `BAD_INPUT` for an id that is unknown, was answered already or has expired. */
  approve(id: unknown, by: unknown): void {
    this.#takeOrThrow(id, 'approve').settle(this.#createRecord(by));
  }

  /** Like `approve`, but the waiting run fails with `DECLINED`. */
  reject(id: unknown, by: unknown): void {
    const declined = this.#createRecord(by);
    const byWhom = declined.by === null ? trusted('') : safeMessage` by ${declined.by}`;
    const error = new GatewayError('DECLINED', safeMessage`The change was declined${byWhom}. Nothing was changed.`, {
      sent: false,
      extra: { declined },
    });
    this.#takeOrThrow(id, 'reject').settle(error);
  }

  #takeOrThrow(id: unknown, property: 'approve' | 'reject'): PendingEntry {
    if (typeof id !== 'string' || id === '')
      throw badInput(safeMessage`msg.${trusted(property)} must be the id from the message that this node sent: a text.`);
    const entry = this.#remove(id);
    if (entry && this.#now() < entry.expires) return entry;
    // A timer fires late after the machine slept.
    entry?.settle(createExpiredError());
    throw badInput(
      safeMessage`No plan waits for the id in msg.${trusted(property)}. It was answered already, has expired, or belongs to another node. Nothing was changed.`,
    );
  }

  #remove(id: string): PendingEntry | undefined {
    const entry = this.#pending.get(id);
    this.#pending.delete(id);
    return entry;
  }

  #createRecord(by: unknown): ApprovalRecord {
    const name = typeof by === 'string' ? by.slice(0, MAX_NAME_LENGTH) : '';
    return { by: name === '' ? null : name, at: new Date(this.#now()).toISOString() };
  }
}

function createExpiredError(): GatewayError {
  return new GatewayError('EXPIRED', 'Nobody approved the change in time. Nothing was changed.', { sent: false });
}
