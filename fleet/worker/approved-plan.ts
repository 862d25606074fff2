import { GatewayError, safeMessage, redactSecrets, type RequestApproval, type PlannedRequest } from '@gateway-admin/node-red';
import type { ApprovedPlan } from '../store/rows';
import { normalizeForDatabase, toStorableJson } from '../store/storable-text';

/**
 * Limits an item to the approved requests of its appliance. Each planned request may be sent as often as it was planned, or less often.
 * Requests are compared with masked secrets. `loadPlan` gives undefined if the plan has nothing for the appliance.
 */
export function restrictToApprovedPlan(
  { plan: run, by, at }: ApprovedPlan,
  loadPlan: () => Promise<readonly PlannedRequest[] | null | undefined>,
): RequestApproval {
  return async ({ plan, appliance }) => {
    const approved = await loadPlan();
    if (approved === undefined) {
      throw new GatewayError(
        'CONFLICT',
        safeMessage`The plan ${run} has nothing for ${appliance}, so nothing was approved or sent. Plan again.`,
        {
          sent: false,
        },
      );
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
    safeMessage`${method} ${path} is not in the approved plan ${run}, or the appliance has changed since. Nothing was sent. Plan again and approve the new plan.`,
    { sent: false },
  );
}

/**
 * Text as the database returns it, with sorted keys, so that a stored plan and a new one can be compared. The item of a request is for
 * people: the address of a session may change.
 */
function toComparableText(request: PlannedRequest): string {
  return toStorableJson(JSON.stringify(normalizeForDatabase({ ...request, item: undefined })));
}
