import { applianceOf } from '../../contain/appliance';
import type { Hands } from '../../contain/hands';
import { aloneAt } from '../../contain/store';
import { asGatewayError } from '../../model/error';
import { truthOf, type JsonObject } from '../../model/json';
import type { Call } from '../../model/operation';
import { plainAddress } from '../sessions/addresses';
import { endSingle, isOwn, shown } from '../sessions/end';
import { listSessions } from '../sessions/list';
import { LocalUsers } from '../users/local-users';

/** What containing does, by the means of one call. */
export function handsOf(call: Call): Hands {
  const { accounts } = call.settings;
  const appliance = applianceOf(call.settings.base);
  return {
    appliance,
    planned: call.dryRun,
    isEnabled: async (server, name) => {
      const user = await new LocalUsers(server, call).find(name);
      // A release that does not tell has it enabled: what is disabled says so.
      return user && truthOf(user['enabled']) !== false && user['enabled'] !== 'disabled';
    },
    setEnabled: async (server, name, enabled) => {
      await new LocalUsers(server, call).change(name, { enabled: enabled ? 'true' : 'false' });
    },
    sessions: (name) => listSessions(name === undefined ? {} : { name }, call),
    isOf: (session, { name, 'source-ip': address }) => {
      if (isOwn(accounts, session['active-user-name'])) return false;
      if (name !== undefined) return session['active-user-name'] === name;
      const from = session['source-ip'];
      return address !== undefined && typeof from === 'string' && (plainAddress(from.trim().toLowerCase()) ?? from) === address;
    },
    end: async (session) => {
      try {
        await endSingle(session, call);
        return true;
      } catch (thrown) {
        const { answered, code, details } = asGatewayError(thrown);
        // One that came after the plan was approved is left to the keeper.
        if (answered === 'NOT_FOUND' || (code === 'CONFLICT' && details.sent === false)) return false;
        throw thrown;
      }
    },
    shown: (session: JsonObject) => shown(session),
    exclusive: (work) => (call.dryRun ? work() : call.exclusive('contain', () => aloneAt(appliance, work))),
  };
}
