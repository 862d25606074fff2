import type { Transport } from '../http/transport';
import type { Coordination } from '../model/coordination';
import { ProcessCoordination } from '../model/process-coordination';
import { Redactor } from '../model/redaction';
import type { CheckedSettings } from '../model/settings';
import { Session } from './session';

export interface ProveLoginOptions {
  readonly settings: CheckedSettings;
  readonly transport: Transport;
  readonly coordination: Coordination;
}

/** Why no login by itself can prove that the account gets in; undefined where one can. */
export function unprovableReason({ login, secondFactor }: CheckedSettings): 'flow' | 'key' | undefined {
  if (login === 'key') return 'key';
  return secondFactor === 'flow' ? 'flow' : undefined;
}

/**
 * Logs in by itself, to see whether the account still gets in: the key that there is stays as it is. It spends one-time codes like any
 * other login, but heeds no pause and begins none: what it finds says nothing of the credentials. Errors: those of a login.
 */
export async function proveLogin({ settings, transport, coordination }: ProveLoginOptions): Promise<void> {
  // Its key is seen by nobody, and must not push the one that is in use out of what is masked.
  const session = new Session(settings, transport, new Redactor(), new IsolatedPauses(coordination), { isolatedLogin: true });
  try {
    await session.key(() => undefined);
  } finally {
    session.close();
  }
}

/** Pauses of its own; codes, which `update` alone spends, are those of all. */
class IsolatedPauses extends ProcessCoordination {
  readonly #shared: Coordination;

  constructor(shared: Coordination) {
    super();
    this.#shared = shared;
  }

  override update(...[key, ...more]: Parameters<Coordination['update']>): ReturnType<Coordination['update']> {
    return key.startsWith('one-time-codes:') ? this.#shared.update(key, ...more) : super.update(key, ...more);
  }
}
