import { setTimeout as sleep } from 'node:timers/promises';
import { asGatewayError, GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import { booleanField, type OperationContext } from '../model/operation';
import { CONFIGURATION_ROOT } from '../model/path';
import type { Request } from '../model/request';
import { trusted, safeMessage } from '../model/safe-message';
import type { WriteResponse } from '../run/sender';
import type { WriteInterceptor } from '../run/write-runner';
import { restoreState } from './restore-state';
import { readStateBefore, readCurrentState, type WriteBaseline } from './resource-state';

/** Field of the operations that may write what administrators get in by. */
export const proveLoginField = booleanField(
  'Prove the login',
  'After a change of what administrators get in by, a login of its own proves that this account still does; if not, what was there is put back.',
  { guard: true, default: true },
);

export interface LockOutGuardOptions {
  readonly call: OperationContext;
  /** For putting back: not cancelled with the run, and nobody has to approve it. */
  readonly createRestoreCall: () => OperationContext;
  /** False where the field switches it off. */
  readonly isEnabled: boolean;
  /** A login of its own; undefined where none can prove anything. */
  readonly proveLogin: (() => Promise<void>) | undefined;
}

const ADMINISTRATORS = `${CONFIGURATION_ROOT}/administrators`;
/** Of the connection rather than of the account: looked at twice. */
const TRANSIENT_CODES = new Set<ErrorCode>(['CONNECTION', 'TIMEOUT', 'BAD_RESPONSE', 'APPLIANCE_ERROR']);
const RETRY_DELAY_MS = 1000;

/** Whether a write may change who gets in. */
export function mayLockOut({ method, path }: Request): boolean {
  return method !== 'GET' && (path === ADMINISTRATORS || path.startsWith(`${ADMINISTRATORS}/`));
}

/**
 * After a write below `administrators/`, proves by a login that the account still gets in; if it does not, puts back what was there, with the
 * key that is still good (contract, section 6). One such write at a time. Errors: `LOCKED_OUT`, `cause.restored` telling whether it is as
 * it was.
 */
export function createLockOutGuard({ call, createRestoreCall, isEnabled, proveLogin }: LockOutGuardOptions): WriteInterceptor {
  return (write, next) => {
    if (!isEnabled || !mayLockOut(write.request)) return next();
    if (!proveLogin) {
      call.addToEnvelope({ unproved: true });
      return next();
    }
    let hasWaited = false;
    const work = async (): Promise<WriteResponse> => {
      const baseline = await readStateBefore(write.request, call, !hasWaited);
      try {
        const written = await next();
        const refusal = await tryLogin(proveLogin);
        if (!refusal) return written;
        throw await createLockedOutError(refusal, baseline, write.request, createRestoreCall());
      } catch (thrown) {
        const error = asGatewayError(thrown);
        // It may have happened all the same.
        const refusal = error.code === 'OUTCOME_UNKNOWN' ? await tryLogin(proveLogin) : undefined;
        throw refusal ? await createLockedOutError(refusal, baseline, write.request, createRestoreCall()) : error;
      }
    };
    return call.runExclusive('administrators', work, { onWait: () => (hasWaited = true), isBrief: true });
  };
}

async function tryLogin(proveLogin: () => Promise<void>): Promise<GatewayError | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      await proveLogin();
      return undefined;
    } catch (thrown) {
      const error = asGatewayError(thrown);
      if (tries === 2 || !TRANSIENT_CODES.has(error.code)) return error;
      await sleep(RETRY_DELAY_MS);
    }
  }
}

async function createLockedOutError(
  refusal: GatewayError,
  baseline: WriteBaseline | undefined,
  request: Request,
  call: OperationContext,
): Promise<GatewayError> {
  const reason = safeMessage`After this change the account does not get in any more (${refusal})`;
  const restoreError = await tryRestore(baseline, request, call);
  if (!restoreError) {
    const words = safeMessage`${reason} What was there before was put back. Check that the change still admits ${trusted('the account and the address of this machine')}.`;
    return new GatewayError('LOCKED_OUT', words, { sent: true, extra: { restored: true, changed: false, refused: refusal.code } });
  }
  const words = safeMessage`${reason} It could not be put back: ${restoreError} Put it back by hand, while the key of this login is still good.`;
  return new GatewayError('LOCKED_OUT', words, { sent: true, extra: { restored: false, changed: true, refused: refusal.code } });
}

/** What kept it from being as it was, if anything did. */
async function tryRestore(
  baseline: WriteBaseline | undefined,
  { body }: Request,
  call: OperationContext,
): Promise<GatewayError | undefined> {
  if (!baseline || baseline.subject.paths.length === 0) return new GatewayError('CONFLICT', 'what was there before could not be read.');
  try {
    await restoreState({ ...baseline, ...(body && { body }) }, await readCurrentState(baseline.subject, call), call);
    return undefined;
  } catch (thrown) {
    return asGatewayError(thrown);
  }
}
