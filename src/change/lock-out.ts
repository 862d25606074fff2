import { setTimeout as sleep } from 'node:timers/promises';
import { asGatewayError, GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import { booleanField, type OperationContext } from '../model/operation';
import { CONFIGURATION_ROOT } from '../model/path';
import type { Request } from '../model/request';
import { trusted, safeMessage } from '../model/safe-message';
import { isWithoutEffect } from '../run/retry-policy';
import type { WriteResponse } from '../run/sender';
import type { WriteInterceptor } from '../run/pending-write';
import { restoreState } from './restore-state';
import { findCreatedPaths, readStateBefore, readCurrentState, type StateBeforeWrite } from './resource-state';

/** Field of the operations that can change how administrators log in. */
export const loginProofField = booleanField(
  'Prove the login',
  'After a change of how administrators log in, a separate login proves that this account still works. If not, the earlier state is restored.',
  { guard: true, default: true },
);

interface LockOutGuardOptions {
  readonly call: OperationContext;
  /** Creates the context that restores the earlier state. It ignores cancellation and needs no approval. */
  readonly createRestoreCall: () => OperationContext;
  /** Whether the guard is on; false if the field `prove-login` turns it off. */
  readonly isEnabled: boolean;
  /** Logs in separately and reads the given resource with the new key; undefined if no login can prove anything. */
  readonly proveLogin: ((path: string | undefined) => Promise<void>) | undefined;
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
 * After a write below `administrators/` that may have happened, proves by a separate login that the account still works and can read the
 * changed resource. If not, restores the earlier state and proves the login again with
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
      const prove = (): Promise<GatewayError | undefined> => tryLogin(() => proveLogin(baseline && findProofPath(baseline, write.request)));
      let response: WriteResponse | undefined;
      let error: GatewayError | undefined;
      try {
        response = await next();
      } catch (thrown) {
        error = asGatewayError(thrown);
        if (isWithoutEffect(error)) throw error;
      }
      const refusal = await prove();
      if (refusal) throw await createLockedOutError(refusal, prove, baseline, write.request, createRestoreCall());
      if (error) throw error;
      return response as WriteResponse;
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

/** Returns the resource that the account must still be able to read; undefined if it could not be read before either. */
function findProofPath({ subject, collection }: StateBeforeWrite, { method, path }: Request): string | undefined {
  if (method === 'POST') return collection?.path;
  return subject.owner ?? path.replace(/\/$/, '');
}

/** Restores the earlier state. Another proof decides whether the account is admitted again, whatever the restore reported. */
async function createLockedOutError(
  refusal: GatewayError,
  prove: () => Promise<GatewayError | undefined>,
  baseline: StateBeforeWrite | undefined,
  request: Request,
  call: OperationContext,
): Promise<GatewayError> {
  const lost = refusal.details.login === true ? trusted('log in') : trusted('log in and read the changed resource');
  const reason = safeMessage`After this change the account can no longer ${lost} (${refusal})`;
  const restoreError = await tryRestore(baseline, request, call);
  const remaining = baseline ? await prove() : refusal;
  const extra = { restored: remaining === undefined, changed: remaining !== undefined, refused: refusal.code };
  if (!remaining && !restoreError) {
    const message = safeMessage`${reason} The earlier state was restored. Check that the change still admits ${trusted('the account and the address of this machine')}.`;
    return new GatewayError('LOCKED_OUT', message, { sent: true, extra });
  }
  if (!remaining) {
    const message = safeMessage`${reason} The restore reported a failure (${restoreError ?? ''}), but the account can log in again. Compare the resource with its earlier state.`;
    return new GatewayError('LOCKED_OUT', message, { sent: true, extra: { ...extra, changed: null } });
  }
  const obstacle = restoreError ?? safeMessage`the restore was accepted, but the account still cannot ${lost} (${remaining})`;
  const message = safeMessage`${reason} The earlier state could not be restored: ${obstacle} Restore it manually while the current key is still valid.`;
  return new GatewayError('LOCKED_OUT', message, { sent: true, extra });
}

/** Returns the error that prevented the restore; undefined if it succeeded. */
async function tryRestore(
  baseline: StateBeforeWrite | undefined,
  { method, body }: Request,
  call: OperationContext,
): Promise<GatewayError | undefined> {
  if (!baseline) return new GatewayError('CONFLICT', 'it could not be read before the write.');
  try {
    if (method === 'POST') await removeCreated(baseline, call);
    else await restoreState({ ...baseline, ...(body && { body }) }, await readCurrentState(baseline.subject, call), call);
    return undefined;
  } catch (thrown) {
    return asGatewayError(thrown);
  }
}

/** Deletes what a POST created. Throws `CONFLICT` if it cannot be found. */
async function removeCreated(baseline: StateBeforeWrite, call: OperationContext): Promise<void> {
  const created = await findCreatedPaths(baseline, call);
  if (created.length === 0) throw new GatewayError('CONFLICT', 'the created resource was not found.');
  for (const path of created) await call.write({ method: 'DELETE', path });
}
