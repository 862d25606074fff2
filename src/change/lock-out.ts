import { setTimeout as sleep } from 'node:timers/promises';
import { asGatewayError, GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import { booleanField, type OperationContext } from '../model/operation';
import { CONFIGURATION_ROOT } from '../model/path';
import type { Request } from '../model/request';
import { trusted, safeMessage } from '../model/safe-message';
import type { WriteResponse } from '../run/sender';
import type { WriteInterceptor } from '../run/pending-write';
import { restoreState } from './restore-state';
import { readStateBefore, readCurrentState, type WriteBaseline } from './resource-state';

/** Field of the operations that can change how administrators log in. */
export const proveLoginField = booleanField(
  'Prove the login',
  'After a change of how administrators log in, a separate login proves that this account still works. If not, the earlier state is restored.',
  { guard: true, default: true },
);

export interface LockOutGuardOptions {
  readonly call: OperationContext;
  /** Creates the context that restores the earlier state. It ignores cancellation and needs no approval. */
  readonly createRestoreCall: () => OperationContext;
  /** False if the field turns the guard off. */
  readonly isEnabled: boolean;
  /** Logs in separately; undefined if no login can prove anything. */
  readonly proveLogin: (() => Promise<void>) | undefined;
}

const ADMINISTRATORS = `${CONFIGURATION_ROOT}/administrators`;
/** Errors of the connection rather than of the account: the login is tried again. */
const TRANSIENT_CODES = new Set<ErrorCode>(['CONNECTION', 'TIMEOUT', 'BAD_RESPONSE', 'APPLIANCE_ERROR']);
const RETRY_DELAY_MS = 1000;

/** Returns whether a write can change who may log in. */
export function mayLockOut({ method, path }: Request): boolean {
  return method !== 'GET' && (path === ADMINISTRATORS || path.startsWith(`${ADMINISTRATORS}/`));
}

/**
 * After a write below `administrators/`, proves by a separate login that the account still works. If not, restores the earlier state with
 * the key that is still valid (contract, section 6). Such writes run one at a time. Throws `LOCKED_OUT`; `cause.restored` says whether the
 * earlier state is back.
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
        // The write may have happened.
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
  const reason = safeMessage`After this change the account can no longer log in (${refusal})`;
  const restoreError = await tryRestore(baseline, request, call);
  if (!restoreError) {
    const message = safeMessage`${reason} The earlier state was restored. Check that the change still admits ${trusted('the account and the address of this machine')}.`;
    return new GatewayError('LOCKED_OUT', message, { sent: true, extra: { restored: true, changed: false, refused: refusal.code } });
  }
  const message = safeMessage`${reason} The earlier state could not be restored: ${restoreError} Restore it manually while the current key is still valid.`;
  return new GatewayError('LOCKED_OUT', message, { sent: true, extra: { restored: false, changed: true, refused: refusal.code } });
}

/** Returns the error that prevented the restore; undefined if the earlier state is back. */
async function tryRestore(
  baseline: WriteBaseline | undefined,
  { body }: Request,
  call: OperationContext,
): Promise<GatewayError | undefined> {
  if (!baseline || baseline.subject.paths.length === 0) return new GatewayError('CONFLICT', 'it could not be read before the write.');
  try {
    await restoreState({ ...baseline, ...(body && { body }) }, await readCurrentState(baseline.subject, call), call);
    return undefined;
  } catch (thrown) {
    return asGatewayError(thrown);
  }
}
