import { createLockOutGuard } from './change/lock-out';
import { createWriteRecorder, type Initiator } from './journal/record-writes';
import { JournalWriter } from './journal/journal-writer';
import { proveLogin, unprovableReason } from './login/prove-login';
import type { Redactor } from './model/redaction';
import { RunContext } from './run/run-context';
import type { GatewayContext } from './run/gateway-context';
import type { WriteInterceptor } from './run/write-runner';

/** A run whose writes are guarded and recorded. */
export interface InterceptedRun {
  readonly context: GatewayContext;
  readonly operation: string;
  readonly redactor: Redactor;
  readonly initiator: Initiator | undefined;
}

/** What stands around the writes of one run: whether they lock this account out, where that is wanted, and within that the journal. */
export function createWriteInterceptor(run: InterceptedRun, call: RunContext, shouldProveLogin: boolean): WriteInterceptor {
  const { context, redactor } = run;
  const mending = (): RunContext => {
    const repairCall: RunContext = new RunContext(context, {
      dryRun: false,
      masker: redactor,
      interceptWrite: (write, next) => createJournalInterceptor(run, repairCall)(write, next),
    });
    return repairCall;
  };
  const { settings, transport, coordination } = context;
  const login = unprovableReason(settings) === undefined ? () => proveLogin({ settings, transport, coordination }) : undefined;
  const guard = createLockOutGuard({ call, createRestoreCall: mending, isEnabled: shouldProveLogin, proveLogin: login });
  const recordWrite = createJournalInterceptor(run, call);
  return (write, next) => guard(write, () => recordWrite(write, next));
}

/** Recorded, where there is a journal. */
function createJournalInterceptor({ context, operation, redactor, initiator = {} }: InterceptedRun, call: RunContext): WriteInterceptor {
  const { name, journal } = context.settings;
  if (!journal) return (_write, next) => next();
  const mask = <T>(value: T): T => redactor.value(value);
  return createWriteRecorder({ writer: JournalWriter.forFolder(journal), call, appliance: name, operation, initiator, mask });
}
