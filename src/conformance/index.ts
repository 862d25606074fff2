import type { ExchangeLogEntry } from '../http/exchange-log';
import { Transport } from '../http/transport';
import { Session } from '../login/session';
import { asGatewayError, GatewayError } from '../model/error';
import { processCoordination } from '../model/process-coordination';
import { Redactor } from '../model/redaction';
import { safeMessage, trusted } from '../model/safe-message';
import { checkSettings, isRehearsing, type CheckedSettings, type Settings } from '../model/settings';
import { listSettingsSecrets } from '../model/settings-secrets';
import { createRawConnection } from '../run/raw-exchange';
import { assertConformanceLimits, runProbes, type ConformanceLimits, type ConformanceResult } from './check';

export type { ConformanceLimits, ConformanceProgress, ConformanceResult } from './check';
export {
  compareProfiles,
  parseProfile,
  type ConformanceProfile,
  type ProfileDifference,
  type ProfileEndpoint,
  type VariantValue,
} from './profile';

const LOGIN_PATH = /\/api\/v1\/(?:realm_)?auth$/;

/** Counts the steps of our login: those that succeed before the first other exchange. */
class LoginSteps {
  steps = 0;
  #isOver = false;

  readonly count = ({ path, status }: ExchangeLogEntry): void => {
    const isLogin = LOGIN_PATH.test(path);
    if (isLogin && !this.#isOver && status !== null && status < 300) this.steps++;
    this.#isOver ||= !isLogin;
  };
}

export interface ConformanceOptions extends ConformanceLimits {
  /** Creates one local user and one role with random names, and removes both. Default: reads only. */
  readonly writes?: boolean | undefined;
}

/**
 * Checks how an appliance answers. The report and the profile have names of keys, kinds, statuses, sizes and times, and no values. Errors:
 * `BAD_CONFIG`, `ABORTED`, and those of the first request when no response came.
 */
export async function checkConformance(settings: Settings, options: ConformanceOptions = {}): Promise<ConformanceResult> {
  assertConformanceLimits(options);
  if (isRehearsing(settings))
    throw new GatewayError('BAD_CONFIG', 'rehearsal is set. Check the appliance itself without it.', { sent: false });
  const checked = checkSettings(settings);
  if (options.writes) assertWritesAllowed(checked);
  const redactor = new Redactor().add(...listSettingsSecrets(checked));
  const loginSteps = new LoginSteps();
  const transport = new Transport(checked, undefined, loginSteps.count);
  const session = new Session(checked, transport, redactor, processCoordination, { isolatedLogin: true });
  const ignore = (): void => undefined;
  const { signal, writes = false } = options;
  try {
    const connection = createRawConnection({ settings: checked, session, transport }, ignore, ignore, signal);
    const handshake = await transport.handshake(signal).catch(() => undefined);
    const { username: account, realm } = checked;
    return await runProbes({ connection, account, realm, writes, handshake, countLoginSteps: () => loginSteps.steps }, options);
  } catch (thrown) {
    const error = asGatewayError(thrown);
    throw new GatewayError(error.code, trusted(redactor.message(error)), redactor.value(error.details));
  } finally {
    session.close();
    transport.close();
  }
}

/** Probes pass no guard rail, so a check with writes keeps to the strictest reading of them. Errors: `LIMIT`; nothing was sent. */
function assertWritesAllowed({ permissions, dryRun, pin }: CheckedSettings): void {
  const guard = dryRun ? 'dryRun' : permissions !== 'full' ? `permissions (${permissions})` : pin !== undefined ? 'pin' : undefined;
  if (guard === undefined) return;
  throw new GatewayError(
    'LIMIT',
    safeMessage`The setting ${trusted(guard)} guards this appliance. A check with writes creates and deletes a user and a role, so it needs settings without guards. Nothing was sent.`,
    { sent: false, statusReason: 'not-permitted' },
  );
}
