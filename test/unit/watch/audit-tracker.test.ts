import { describe, expect, it } from 'vitest';
import type { AuditFinding } from '../../../src/audit/finding';
import { AuditTracker } from '../../../src/watch/audit-tracker';
import { getThrownError } from '../../helpers/simulated-appliance';

const finding = (rule: string, path: string, message = 'x'): AuditFinding => ({
  ...{ rule, severity: 'low', path, name: '', message, fix: 'y', evidence: null },
});
const audit = (findings: AuditFinding[], notApplicable: string[] = []) => ({ findings, notApplicable });

describe('AuditTracker', () => {
  it('AuditTracker reports new and solved findings once, even after its state was restored', () => {
    const [a, b, changed] = [finding('unused-object', '/a'), finding('unused-object', '/b'), finding('unused-object', '/a', 'other')];
    let tracker = new AuditTracker();
    const check = (...findings: AuditFinding[]): unknown => {
      const { events, summary } = tracker.update(audit(findings));
      expect(summary).toEqual({ key: 'findings', n: findings.length });
      const next = new AuditTracker();
      next.restore(JSON.parse(JSON.stringify(tracker.save())));
      tracker = next;
      return events;
    };
    expect(check(a)).toEqual([]);
    expect(check(a, b)).toEqual([{ event: 'new', findings: [b] }]);
    expect(check(changed, b)).toEqual([]);
    expect(check(b)).toEqual([{ event: 'solved', findings: [changed] }]);
    expect(check(a)).toEqual([
      { event: 'new', findings: [a] },
      { event: 'solved', findings: [b] },
    ]);
  });

  it('AuditTracker does not report a finding as solved while the data it needs cannot be read', () => {
    const [down, unused] = [finding('cluster-member-down', ''), finding('unused-object', '/a')];
    const tracker = new AuditTracker();
    tracker.update(audit([down, unused]));
    expect(tracker.update(audit([], ['cluster-member-down', 'unused-object'])).events).toEqual([{ event: 'solved', findings: [unused] }]);
    expect(tracker.update(audit([down])).events).toEqual([]);
    expect(tracker.update(audit([])).events).toEqual([{ event: 'solved', findings: [down] }]);
  });

  it('AuditTracker does not report findings as solved while their part of the configuration cannot be read', () => {
    const [role, realm] = [finding('unused-object', '/c/role/a'), finding('session-too-long', '/c/realm/b/options')];
    const link = finding('dangling-reference', '/c/url/u');
    const tracker = new AuditTracker();
    tracker.update(audit([role, realm, link]));
    expect(tracker.update({ ...audit([], ['unused-object']), unreadable: ['/c/realm'] }).events).toEqual([]);
    expect(tracker.update(audit([])).events).toEqual([{ event: 'solved', findings: [role, realm, link] }]);
  });

  it('AuditTracker rejects data and saved states of another shape', () => {
    for (const odd of [{}, { findings: [] }, { findings: 'x', notApplicable: [] }])
      expect(getThrownError(() => new AuditTracker().update(odd as never))).toMatchObject({ code: 'BAD_RESPONSE' });
    for (const odd of [{}, [7], [{}], 'x']) expect(() => new AuditTracker().restore(odd)).toThrow('has another shape');
  });
});
