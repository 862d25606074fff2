import { GatewayError, sentence, withoutSecrets, type Approve, type PlannedRequest } from '@gateway-admin/node-red';
import type { ApprovedPlan } from '../ledger/rows';
import { keptJson } from '../ledger/text';

/**
 * Lets an item do nothing beyond what somebody has approved for its appliance: each request as often as it was planned, fewer at will. They
 * are compared as people see them, secrets masked. `planned` is undefined where the plan knows nothing of the appliance.
 */
export function asApproved(
  { plan: run, by, at }: ApprovedPlan,
  planned: () => Promise<readonly PlannedRequest[] | null | undefined>,
): Approve {
  return async ({ plan, appliance }) => {
    const approved = await planned();
    if (approved === undefined) {
      throw new GatewayError('CONFLICT', sentence`The plan ${run} has nothing for ${appliance}: nothing was approved. Plan again.`, {
        sent: false,
      });
    }
    const left = (approved ?? []).map(textOf);
    for (const request of withoutSecrets(plan)) {
      const place = left.indexOf(textOf(request));
      if (place < 0) throw beyond(run, request);
      left.splice(place, 1);
    }
    return { by, at };
  };
}

function beyond(run: string, { method, path }: PlannedRequest): GatewayError {
  return new GatewayError(
    'CONFLICT',
    sentence`This is not what was approved: ${method} ${path} would be sent, but it is not in the plan ${run}, or something has changed since. Plan again, to have it approved as it is now.`,
    { sent: false },
  );
}

/** As a table has it: what it cannot keep is something else there, and the names of an object are in an order of its own. */
function textOf(value: unknown): string {
  return keptJson(JSON.stringify(value, sorted));
}

function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
}
