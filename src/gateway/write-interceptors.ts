import { createLockOutGuard, mayLockOut } from '../change/lock-out';
import { assertRemovesNothing, NO_DESTROY_REASON } from '../change/find-removal';
import { JournalWriter } from '../journal/journal-writer';
import { createWriteRecorder, type Initiator } from '../journal/record-writes';
import { proveLogin, getUnprovableReason } from '../login/prove-login';
import type { Session } from '../login/session';
import { asGatewayError } from '../model/error';
import type { SafeMessage } from '../model/safe-message';
import type { Redactor } from '../model/redaction';
import type { GatewayContext } from '../run/gateway-context';
import type { PendingWrite, WriteGuard, WriteInterceptor } from '../run/pending-write';
import type { CheckPermission } from '../run/permissions';
import { ReadCache } from '../run/read-cache';
import { RunContext } from '../run/run-context';
import type { RunState } from '../run/run-state';
import type { WriteResponse } from '../run/sender';

/** A run whose writes are checked, guarded and recorded. */
export interface RunWithWriteInterceptors {
  readonly gatewayContext: GatewayContext;
  /** Full name of the operation, such as `sessions.kill`, for the journal. */
  readonly name: string;
  readonly redactor: Redactor;
  readonly initiator: Initiator | undefined;
  /** Checks that a write was approved; undefined when no approval is needed. */
  readonly gate: WriteGuard | undefined;
  /** Checks the permission of a write; undefined when every write is allowed. */
  readonly checkPermission: CheckPermission | undefined;
  /** Reads before a write. Undefined for writes of no operation, which change single fields only. */
  readonly context?: RunContext;
  /** The reason, apart from the permissions, why a PUT may not remove anything. Undefined: a PUT may remove something. */
  readonly removalRefusal?: SafeMessage | undefined;
  /** Whether the lock-out guard is on; false when the field `prove-login` switches it off. */
  readonly shouldProveLogin: boolean;
}

type WriteCheck = (run: RunWithWriteInterceptors, write: PendingWrite, state: RunState) => Promise<void> | undefined;
type CreateInterceptor = (run: RunWithWriteInterceptors, context: RunContext) => WriteInterceptor;

/** Refuse a write before it counts as the request of the run, in this order. Dry runs pass them too. */
const WRITE_CHECKS: readonly WriteCheck[] = [checkApproval, checkPermission, checkPin, checkRemoval];

/** Surround a write that is sent, in this order: the journal records inside the lock-out guard. */
const WRITE_INTERCEPTORS: readonly CreateInterceptor[] = [createGuard, createRecorder];

/** Passes a write through the checks. It returns a promise only when a check must wait. */
export function runWriteChecks(run: RunWithWriteInterceptors, write: PendingWrite, state: RunState, first = 0): Promise<void> | undefined {
  for (let index = first; index < WRITE_CHECKS.length; index++) {
    const pending = WRITE_CHECKS[index]?.(run, write, state);
    if (pending) return pending.then(() => runWriteChecks(run, write, state, index + 1));
  }
  return undefined;
}

/** Creates the interceptors of a run and chains them. */
export function createWriteInterceptor(run: RunWithWriteInterceptors, context: RunContext): WriteInterceptor {
  const interceptors = WRITE_INTERCEPTORS.map((create) => create(run, context));
  const runFrom = (index: number, write: PendingWrite, send: () => Promise<WriteResponse>): Promise<WriteResponse> => {
    const intercept = interceptors[index];
    return intercept ? intercept(write, () => runFrom(index + 1, write, send)) : send();
  };
  return (write, next) => runFrom(0, write, next);
}

/** Whether an interceptor has anything to do for a write. Most writes are sent directly. */
export function needsWriteInterceptor(
  { gatewayContext: { settings }, shouldProveLogin }: RunWithWriteInterceptors,
  { request }: PendingWrite,
): boolean {
  return Boolean(settings.journal) || (shouldProveLogin && mayLockOut(request));
}

function checkApproval({ gate }: RunWithWriteInterceptors, write: PendingWrite): Promise<void> | undefined {
  return write.isApproved ? undefined : gate?.assertAllowed(write);
}

function checkPermission({ checkPermission: check }: RunWithWriteInterceptors, { request }: PendingWrite): undefined {
  check?.(request);
}

/** Before the interceptors: a write to another appliance is neither recorded nor prepared. */
function checkPin(_run: RunWithWriteInterceptors, _write: PendingWrite, { plan, sender }: RunState): Promise<void> | undefined {
  return !plan && sender.isPinned ? sender.verifyIdentity() : undefined;
}

function checkRemoval(
  { gatewayContext: { settings }, context, removalRefusal }: RunWithWriteInterceptors,
  { request }: PendingWrite,
): Promise<void> | undefined {
  if (!context || request.method !== 'PUT') return undefined;
  const reason = settings.permissions === 'no-destroy' ? NO_DESTROY_REASON : removalRefusal;
  return reason && assertRemovesNothing(request, context, reason);
}

function createGuard(run: RunWithWriteInterceptors, context: RunContext): WriteInterceptor {
  const { settings, transport, coordination } = run.gatewayContext;
  const prove = (path: string | undefined): Promise<void> => {
    const check = path === undefined ? undefined : (session: Session): Promise<void> => checkReadable(run, session, path);
    return proveLogin({ settings, transport, coordination, check });
  };
  return createLockOutGuard({
    call: context,
    createRestoreCall: () => createRestoreContext(run),
    isEnabled: run.shouldProveLogin,
    proveLogin: getUnprovableReason(settings) === undefined ? prove : undefined,
  });
}

/** Throws if the key of the session may not read the resource. Other errors say nothing about the account. */
async function checkReadable({ gatewayContext, redactor }: RunWithWriteInterceptors, session: Session, path: string): Promise<void> {
  const call = new RunContext({ ...gatewayContext, session, readCache: new ReadCache() }, { dryRun: false, masker: redactor });
  try {
    await call.read({ method: 'GET', path });
  } catch (thrown) {
    const error = asGatewayError(thrown);
    if (error.code === 'FORBIDDEN' || error.code === 'UNAUTHORIZED' || error.details.login === true) throw error;
  } finally {
    call.end();
  }
}

/** The context that puts the old state back after a lock-out. It needs no approval and ignores a cancellation. */
function createRestoreContext(run: RunWithWriteInterceptors): RunContext {
  const context: RunContext = new RunContext(run.gatewayContext, {
    dryRun: false,
    masker: run.redactor,
    checkWrite: (write, state) => checkPin(run, write, state),
    interceptWrite: (write, next) => createRecorder(run, context)(write, next),
  });
  return context;
}

function createRecorder(
  { gatewayContext, name, redactor, initiator = {} }: RunWithWriteInterceptors,
  context: RunContext,
): WriteInterceptor {
  const { settings, signer, stateFolder } = gatewayContext;
  const { name: appliance, journal } = settings;
  if (!journal) return (_write, next) => next();
  const mask = <T>(value: T): T => redactor.value(value);
  const writer = JournalWriter.forFolder(journal, stateFolder);
  return createWriteRecorder({ writer, signer, call: context, appliance, operation: name, initiator, mask });
}
