import { setTimeout as sleep } from 'node:timers/promises';
import { asGatewayError, GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import { boolean, type Call } from '../model/operation';
import { CONFIGURATION } from '../model/path';
import type { Request } from '../model/request';
import { ours, sentence } from '../model/sentence';
import type { Written } from '../run/sender';
import type { AroundWrite } from '../run/writes';
import { putBack } from './put-back';
import { stateBefore, stateNow, type Found } from './state';

/** Field of the operations that may write what administrators get in by. */
export const proveLoginField = boolean(
  'Prove the login',
  'After a change of what administrators get in by, a login of its own proves that this account still does; if not, what was there is put back.',
  { guard: true, default: true },
);

export interface LockOutParts {
  readonly call: Call;
  /** For putting back: not cancelled with the run, and nobody has to approve it. */
  readonly mending: () => Call;
  /** False where the field switches it off. */
  readonly wanted: boolean;
  /** A login of its own; undefined where none can prove anything. */
  readonly login: (() => Promise<void>) | undefined;
}

const ADMINISTRATORS = `${CONFIGURATION}/administrators`;
/** Of the connection rather than of the account: looked at twice. */
const PASSING = new Set<ErrorCode>(['CONNECTION', 'TIMEOUT', 'BAD_RESPONSE', 'APPLIANCE_ERROR']);
const PAUSE_MS = 1000;

/** Whether a write may change who gets in. */
export function mayLockOut({ method, path }: Request): boolean {
  return method !== 'GET' && (path === ADMINISTRATORS || path.startsWith(`${ADMINISTRATORS}/`));
}

/**
 * After a write below `administrators/`, proves by a login that the account still gets in; if it does not, puts back what was there, with the
 * key that is still good (contract, section 6). One such write at a time. Errors: `LOCKED_OUT`, `cause.restored` telling whether it is as
 * it was.
 */
export function guardLogin({ call, mending, wanted, login }: LockOutParts): AroundWrite {
  return (write, proceed) => {
    if (!wanted || !mayLockOut(write.request)) return proceed();
    if (!login) {
      call.note({ unproved: true });
      return proceed();
    }
    let waited = false;
    const work = async (): Promise<Written> => {
      const found = await stateBefore(write.request, call, !waited);
      try {
        const written = await proceed();
        const refusal = await refusalOf(login);
        if (!refusal) return written;
        throw await lockedOut(refusal, found, write.request, mending());
      } catch (thrown) {
        const error = asGatewayError(thrown);
        // It may have happened all the same.
        const refusal = error.code === 'OUTCOME_UNKNOWN' ? await refusalOf(login) : undefined;
        throw refusal ? await lockedOut(refusal, found, write.request, mending()) : error;
      }
    };
    return call.exclusive('administrators', work, { onWait: () => (waited = true), brief: true });
  };
}

async function refusalOf(login: () => Promise<void>): Promise<GatewayError | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      await login();
      return undefined;
    } catch (thrown) {
      const error = asGatewayError(thrown);
      if (tries === 2 || !PASSING.has(error.code)) return error;
      await sleep(PAUSE_MS);
    }
  }
}

async function lockedOut(refusal: GatewayError, found: Found | undefined, request: Request, call: Call): Promise<GatewayError> {
  const why = sentence`After this change the account does not get in any more (${refusal})`;
  const lost = await restore(found, request, call);
  if (!lost) {
    const words = sentence`${why} What was there before was put back. Check that the change still admits ${ours('the account and the address of this machine')}.`;
    return new GatewayError('LOCKED_OUT', words, { sent: true, extra: { restored: true, changed: false, refused: refusal.code } });
  }
  const words = sentence`${why} It could not be put back: ${lost} Put it back by hand, while the key of this login is still good.`;
  return new GatewayError('LOCKED_OUT', words, { sent: true, extra: { restored: false, changed: true, refused: refusal.code } });
}

/** What kept it from being as it was, if anything did. */
async function restore(found: Found | undefined, { body }: Request, call: Call): Promise<GatewayError | undefined> {
  if (!found || found.subject.paths.length === 0) return new GatewayError('CONFLICT', 'what was there before could not be read.');
  try {
    await putBack({ ...found, ...(body && { body }) }, await stateNow(found.subject, call), call);
    return undefined;
  } catch (thrown) {
    return asGatewayError(thrown);
  }
}
