import { runProbes } from '../conformance/check';
import { compareProfiles, parseProfile, type ConformanceProfile, type ProfileDifference } from '../conformance/profile';
import type { JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';

export interface ConformanceData {
  readonly profile: ConformanceProfile;
  readonly report: string;
  /** What changed since the previous profile; null without one. */
  readonly differences: readonly ProfileDifference[] | null;
}

/** Checks the appliance with reads. Errors: `BAD_INPUT` for a previous profile that cannot be read; those of a read. */
export async function readConformance(
  input: { previous?: JsonObject | undefined; rate?: number | undefined },
  call: OperationContext,
): Promise<ConformanceData> {
  const previous = input.previous === undefined ? undefined : parseProfile(input.previous);
  const { accounts, realm } = call.settings;
  const subject = { connection: call.raw, account: accounts[0], realm, writes: false, failsEarly: true };
  const onProgress = ({ requests, maxRequests }: { requests: number; maxRequests: number }): void =>
    call.reportProgress({ state: 'items', done: requests, total: maxRequests });
  const { profile, report } = await runProbes(subject, { requestsPerSecond: input.rate, signal: call.signal, onProgress });
  const differences = previous ? compareProfiles(previous, profile) : null;
  if (differences) call.addToEnvelope({ text: describeDifferences(differences) });
  return { profile, report, differences };
}

/** Describes each response that changed in one line. */
function describeDifferences(differences: readonly ProfileDifference[]): string {
  if (differences.length === 0) return 'No answer has changed.';
  const show = (value: ProfileDifference['before']): string => (value === null ? 'nothing' : value === '' ? 'none' : String(value));
  return differences.map(({ subject, part, before, after }) => `${subject}, ${part}: ${show(before)} → ${show(after)}`).join('\n');
}
