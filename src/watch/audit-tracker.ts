import { compareFindings, isUnknown } from '../audit/compare-findings';
import type { AuditFinding } from '../audit/finding';
import { GatewayError } from '../model/error';
import { isObject } from '../model/json';
import type { AuditEvent } from './events';
import { WholeStateTracker, type CheckSummary } from './tracker';

/** The part of the result of an audit that the tracker reads. */
interface AuditResult {
  readonly findings: readonly AuditFinding[];
  readonly notApplicable: readonly string[];
}

/** Reports the findings of an audit that the last check did not have, and those that are solved. */
export class AuditTracker extends WholeStateTracker<readonly AuditFinding[], AuditEvent, AuditResult> {
  protected compare(
    data: AuditResult,
    previous: readonly AuditFinding[] | undefined,
  ): { state: readonly AuditFinding[]; events: AuditEvent[]; summary: CheckSummary } {
    if (![data.findings, data.notApplicable].every((list) => Array.isArray(list)))
      throw new GatewayError('BAD_RESPONSE', 'The audit returned no findings.', { sent: true });
    const { findings, notApplicable } = data;
    const summary: CheckSummary = { key: 'findings', n: findings.length };
    if (!previous) return { state: findings, events: [], summary };
    const { new: added, solved } = compareFindings(previous, findings, notApplicable);
    const events: AuditEvent[] = [];
    if (added.length > 0) events.push({ event: 'new', findings: added });
    if (solved.length > 0) events.push({ event: 'solved', findings: solved });
    // The next check that can read the fact again compares with these.
    const unknown = previous.filter((finding) => isUnknown(finding, notApplicable));
    return { state: [...findings, ...unknown], events, summary };
  }

  protected isState(saved: unknown): saved is readonly AuditFinding[] {
    return Array.isArray(saved) && saved.every((item: unknown) => isObject(item) && typeof item['rule'] === 'string');
  }
}
