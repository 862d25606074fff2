import { GatewayError, safeMessage, redactSecrets, type RequestApproval, type PlannedRequest } from '@gateway-admin/node-red';
import type { ApprovedPlan } from '../store/rows';
import { toStorableJson } from '../store/storable-text';

/**
 * Lets an item do nothing beyond what somebody has approved for its appliance: each request as often as it was planned, fewer at will. They
 * are compared as people see them, secrets masked. `planned` is undefined where the plan knows nothing of the appliance.
 */
export function limitToPlan(
  { plan: run, by, at }: ApprovedPlan,
  loadPlan: () => Promise<readonly PlannedRequest[] | null | undefined>,
): RequestApproval {
  return async ({ plan, appliance }) => {
    const approved = await loadPlan();
    if (approved === undefined) {
      throw new GatewayError('CONFLICT', safeMessage`The plan ${run} has nothing for ${appliance}: nothing was approved. Plan again.`, {
        sent: false,
      });
    }
    const remaining = (approved ?? []).map(toComparableText);
    for (const request of redactSecrets(plan)) {
      const position = remaining.indexOf(toComparableText(request));
      if (position < 0) throw createNotApprovedError(run, request);
      remaining.splice(position, 1);
    }
    return { by, at };
  };
}

function createNotApprovedError(run: string, { method, path }: PlannedRequest): GatewayError {
  return new GatewayError(
    'CONFLICT',
    safeMessage`This is not what was approved: ${method} ${path} would be sent, but it is not in the plan ${run}, or something has changed since. Plan again, to have it approved as it is now.`,
    { sent: false },
  );
}

/** As a table has it: what it cannot keep is something else there, and the names of an object are in an order of its own. */
function toComparableText(value: unknown): string {
  return toStorableJson(JSON.stringify(value, sortKeys));
}

function sortKeys(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
}
