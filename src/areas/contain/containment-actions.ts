import { hashApplianceAddress } from '../../contain/containment-record';
import type { ContainmentActions } from '../../contain/contain';
import { runExclusiveInAllStores } from '../../contain/containment-store';
import { asGatewayError } from '../../model/error';
import { readBoolean, type JsonObject } from '../../model/json';
import type { OperationContext } from '../../model/operation';
import { createNameMatcher } from '../../model/user-names';
import { normalizeAddress } from '../sessions/addresses';
import { endSession, isOwnAccount, listSessionsOfUser, summarizeSession } from '../sessions/end-sessions';
import { listSessions } from '../sessions/list-sessions';
import { LocalUsers } from '../users/local-users';

/** The actions of a containment, performed with one run of an operation. */
export function containmentActionsFor(call: OperationContext): ContainmentActions {
  const { accounts, signer } = call.settings;
  const appliance = hashApplianceAddress(call.settings.base);
  return {
    appliance,
    signer,
    isDryRun: call.dryRun,
    isEnabled: async (server, name) => {
      const user = await new LocalUsers(server, call).find(name);
      // An appliance that does not report the state has the account enabled.
      return user && readBoolean(user['enabled']) !== false && user['enabled'] !== 'disabled';
    },
    setEnabled: async (server, name, enabled) => {
      await new LocalUsers(server, call).change(name, { enabled: enabled ? 'true' : 'false' });
      call.reportDifference();
    },
    listSessions: (name) => listSessions(name === undefined ? {} : { name }, call),
    listSessionsOf: ({ name, match }) => (name === undefined ? listSessions({}, call) : listSessionsOfUser(name, match ?? 'exact', call)),
    isSessionOf: (session, { name, match, 'source-ip': address }) => {
      if (isOwnAccount(accounts, session['active-user-name'])) return false;
      if (name !== undefined) return createNameMatcher(name, match)(session['active-user-name']);
      const sourceIp = session['source-ip'];
      return (
        address !== undefined && typeof sourceIp === 'string' && (normalizeAddress(sourceIp.trim().toLowerCase()) ?? sourceIp) === address
      );
    },
    endSession: async (session) => {
      try {
        await endSession(session, call);
        return true;
      } catch (thrown) {
        const { requestCode, code, details } = asGatewayError(thrown);
        // A session that started after the approval of the plan is left to the enforcement loop.
        if (requestCode === 'NOT_FOUND' || (code === 'CONFLICT' && details.sent === false)) return false;
        throw thrown;
      }
    },
    toReportedSession: (session: JsonObject) => summarizeSession(session),
    runExclusive: (work) => (call.dryRun ? work() : call.runExclusive('contain', () => runExclusiveInAllStores(appliance, work))),
  };
}
