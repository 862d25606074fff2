import { compareFindings, createUncheckedFindingTest, type AuditCoverage } from '../audit/compare-findings';
import { isAuditFinding, type AuditFinding } from '../audit/finding';
import { GatewayError } from '../model/error';
import type { AuditEvent } from './events';
import { WholeStateTracker, type CheckSummary } from './tracker';

/** Reports the findings of an audit that the last check did not have, and those that are solved. */
export class AuditTracker extends WholeStateTracker<readonly AuditFinding[], AuditEvent, AuditCoverage> {
  protected compare(
    data: AuditCoverage,
    previous: readonly AuditFinding[] | undefined,
  ): { state: readonly AuditFinding[]; events: AuditEvent[]; summary: CheckSummary } {
    if (![data.findings, data.notApplicable].every((list) => Array.isArray(list)))
      throw new GatewayError('BAD_RESPONSE', 'The audit returned no findings.', { sent: true });
    const { findings } = data;
    const summary: CheckSummary = { key: 'findings', n: findings.length };
    if (!previous) return { state: findings, events: [], summary };
    const { new: added, solved } = compareFindings(previous, data);
    const events: AuditEvent[] = [];
    if (added.length > 0) events.push({ event: 'new', findings: added });
    if (solved.length > 0) events.push({ event: 'solved', findings: solved });
    // The next check that can read the fact again compares with these.
    const unknown = previous.filter(createUncheckedFindingTest(data));
    return { state: [...findings, ...unknown], events, summary };
  }

  protected isState(saved: unknown): saved is readonly AuditFinding[] {
    return Array.isArray(saved) && saved.every(isAuditFinding);
  }
}
