import { createHash } from 'node:crypto';
import type { Cancellable } from '../model/cancelling';
import { unlessAborted } from '../model/cancelling';
import type { PlannedRequest } from '../model/envelope';
import { GatewayError } from '../model/error';
import { isObject } from '../model/json';
import { jsonText } from '../model/json-text';
import type { Request } from '../model/request';
import { sentence } from '../model/sentence';
import type { Gate, Write } from './write';

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
export interface Approved {
  readonly by: string | null;
  readonly at: string;
}

/** Asked before anything is written. Resolves when the plan is approved; the error that it rejects with is the outcome of the run. */
export type Approve = (proposal: Proposal) => Promise<Approved>;

/** Runs the operation without writing, each of its writes through that gate; gives what it would do. */
export type PlanBy = (gate: Gate) => Promise<Proposal>;

/**
 * Holds a run until its plan is approved, and lets it do nothing beyond that (contract, section 6). What was approved is known by hashes of
 * what would really be sent: a plan that people see has its secrets masked.
 */
export class Approval implements Gate {
  readonly #approve: Approve;
  readonly #allowed = new Map<string, number>();
  #left = new Map<string, number>();

  constructor(approve: Approve) {
    this.#approve = approve;
  }

  /**
   * Plans, asks, and plans again: what came to be different in between is found before anything is sent. Nobody is asked where nothing would be
   * done. Errors: `CONFLICT`, what the decision ends with, `ABORTED` when the run is cancelled.
   */
  async obtain(plan: PlanBy, signal: Cancellable | undefined, note: (approved: Approved) => void): Promise<void> {
    const proposal = await plan({
      pass: async (write) => this.#learn(await fingerprint(write)),
      admits: (request) => {
        this.#learn(fingerprintOf({ request }));
        return true;
      },
    });
    if (proposal.plan.length === 0 && proposal.wouldChange !== true) return;
    const approved = await unlessAborted(
      this.#approve(proposal),
      signal,
      'Cancelled while it waited to be approved, or deployed anew. Nothing was changed.',
    );
    note(approved);
    this.#left = new Map(this.#allowed);
    await plan(this);
    this.#left = new Map(this.#allowed);
  }

  /** Errors: `CONFLICT` for a write that was not approved. */
  async pass(write: Write): Promise<void> {
    if (this.#take(await fingerprint(write))) return;
    const { method, path } = write.request;
    throw new GatewayError(
      'CONFLICT',
      sentence`This is not what was approved: ${method} ${path} would be sent, but it was not in the plan, or something has changed since. Send the message again, to have it approved as it is now.`,
      { sent: false, extra: { beyond: { method, path } } },
    );
  }

  admits(request: Request): boolean {
    return this.#take(fingerprintOf({ request }));
  }

  #learn(known: string): void {
    this.#allowed.set(known, (this.#allowed.get(known) ?? 0) + 1);
  }

  /** Each may be sent as often as it was planned. */
  #take(known: string): boolean {
    const left = this.#left.get(known) ?? 0;
    if (left > 0) this.#left.set(known, left - 1);
    return left > 0;
  }
}

async function fingerprint(write: Write): Promise<string> {
  return fingerprintOf(write, await write.digest?.());
}

/** Of all that is sent. The order of keys says nothing: appliances give it as they like. */
function fingerprintOf({ request, shown }: Write, digest?: string): string {
  const { method, path, query, rawQuery, body } = request;
  const sent = { method, path, query, rawQuery, body, shown, digest };
  return createHash('sha256').update(jsonText(sent, sorted)).digest('base64');
}

function sorted(_key: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  // Pairs keep their order; the names of an object that are numbers would not.
  return Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
}
