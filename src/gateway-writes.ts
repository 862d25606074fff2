import { guardLogin } from './change/lock-out';
import { journalled, type Initiator } from './journal/around';
import { JournalWriter } from './journal/writer';
import { proveLogin, unprovable } from './login/proof';
import type { Redactor } from './model/redaction';
import { OperationCall } from './run/call';
import type { Shared } from './run/shared';
import type { AroundWrite } from './run/writes';

/** A run whose writes are guarded and recorded. */
export interface Writing {
  readonly shared: Shared;
  readonly operation: string;
  readonly redactor: Redactor;
  readonly by: Initiator | undefined;
}

/** What stands around the writes of one run: whether they lock this account out, where that is wanted, and within that the journal. */
export function aroundWrites(of: Writing, call: OperationCall, wanted: boolean): AroundWrite {
  const { shared, redactor } = of;
  const mending = (): OperationCall => {
    const mends: OperationCall = new OperationCall(shared, {
      dryRun: false,
      masking: redactor,
      around: (write, proceed) => recorded(of, mends)(write, proceed),
    });
    return mends;
  };
  const { settings, transport, coordination } = shared;
  const login = unprovable(settings) === undefined ? () => proveLogin({ settings, transport, coordination }) : undefined;
  const guard = guardLogin({ call, mending, wanted, login });
  const own = recorded(of, call);
  return (write, proceed) => guard(write, () => own(write, proceed));
}

/** Recorded, where there is a journal. */
function recorded({ shared, operation, redactor, by = {} }: Writing, call: OperationCall): AroundWrite {
  const { name, journal } = shared.settings;
  if (!journal) return (_write, proceed) => proceed();
  const mask = <T>(value: T): T => redactor.value(value);
  return journalled({ writer: JournalWriter.of(journal), call, appliance: name, operation, by, mask });
}
