import type { Transport } from '../http/transport';
import type { Coordination } from '../model/coordination';
import { ProcessCoordination } from '../model/process-coordination';
import { Redactor } from '../model/redaction';
import type { CheckedSettings } from '../model/settings';
import { Session } from './session';

interface LoginProofOptions {
  readonly settings: CheckedSettings;
  readonly transport: Transport;
  readonly coordination: Coordination;
  /** Uses the new key for a further check. */
  readonly check?: ((session: Session) => Promise<void>) | undefined;
}

/** Returns the setting that prevents an isolated login, or undefined. */
export function getUnprovableReason({ login, secondFactor }: CheckedSettings): 'flow' | 'key' | undefined {
  if (login === 'key') return 'key';
  return secondFactor === 'flow' ? 'flow' : undefined;
}

/**
 * Logs in separately to check that the account still works; the current key stays. The login reserves one-time codes like any other, but
 * ignores pauses and starts none. Errors: those of a login.
 */
export async function proveLogin({ settings, transport, coordination, check }: LoginProofOptions): Promise<void> {
  // Nobody sees this key, so it must not displace the current key from the mask list.
  const session = new Session(settings, transport, new Redactor(), new IsolatedPauses(coordination), { isolatedLogin: true });
  try {
    await session.key(() => undefined);
    await check?.(session);
  } finally {
    session.close();
  }
}

/** Isolates the pauses but shares the one-time codes, which only `update` reserves. */
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
