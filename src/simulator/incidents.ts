import { type ScriptOptions, SessionScript } from './session-script';
import type { ApplianceServer } from './server';
import type { ApplianceState } from './state';
import { UNREACHABLE_STATUS } from './state/cluster';

/** Incidents of an appliance. An incident that ends returns a function that ends it. */
export interface Incidents {
  /** Restarts: cuts every connection and answers 500 until the restart is over. */
  restart(): () => void;
  /** Changes the release. */
  upgrade(release: string): void;
  /** Makes a member of the cluster unreachable. Another member takes over the virtual addresses. */
  failMember(name: string): () => void;
  /** Starts and ends sessions up to the current position of the script. */
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
