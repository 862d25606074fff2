import { type ScriptOptions, SessionScript } from './session-script';
import type { ApplianceServer } from './server';
import type { ApplianceState } from './state';
import { UNREACHABLE_STATUS } from './state/cluster';

/** What happens to an appliance without anybody asking for it; what ends again ends by calling the answer. */
export interface Incidents {
  /** It restarts: every connection is cut, and until it is up again whoever comes is answered 500. */
  restart(): () => void;
  /** It runs another release from now on. */
  upgrade(release: string): void;
  /** A member of its cluster is not reached any more; another one takes over the virtual addresses. */
  failMember(name: string): () => void;
  /** Sessions come and go, as far as the script is played. */
  script(options: ScriptOptions): SessionScript;
}

export function incidentsFor(state: ApplianceState, server: ApplianceServer): Incidents {
  return {
    restart: () => {
      state.variants.restarting = true;
      for (const socket of server.sockets) socket.destroy();
      return () => {
        state.variants.restarting = false;
      };
    },
    upgrade: (release) => {
      state.system.release = release;
    },
    failMember: (name) => {
      const { cluster } = state;
      const failed = cluster?.members.find((member) => member.name === name);
      if (!cluster || !failed) throw new Error(`There is no member "${name}".`);
      const { notes, 'status-code': code } = failed;
      Object.assign(failed, UNREACHABLE_STATUS);
      const other = cluster.members.find((member) => member !== failed && member.enabled);
      if (cluster.vipOwner === name && other) cluster.vipOwner = other.name;
      return () => {
        Object.assign(failed, { notes, 'status-code': code });
      };
    },
    script: (options) => new SessionScript(state, options),
  };
}
