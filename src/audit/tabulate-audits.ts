import { isObject, type JsonObject } from '../model/json';
import { readAuditFindings } from './finding';

/** The ids of `auditRules`, without loading the rules: the operation table needs this file when Node-RED starts. */
export const AUDIT_RULE_IDS: readonly string[] = [
  'unused-object',
  'dangling-reference',
  'duplicate-object',
  'release-not-listed',
  'certificate-ends',
  'certificate-weak',
  'admin-realm-open',
  'admin-realm-single-factor',
  'session-too-long',
  'user-one-time',
  'user-never-used',
  'well-known-community',
  'license-nearly-used',
  'cluster-member-down',
  'health-over-limit',
  'account-has-more-rights',
];

/** Counts of findings by appliance and rule; null for a rule that does not fit or is off. */
export function tabulateAudits(audits: readonly unknown[]): { rows: JsonObject[] } {
  const ids = new Set<string>();
  const results = audits.filter(isObject);
  for (const { findings } of results) for (const finding of readAuditFindings(findings)) ids.add(finding.rule);
  const columns = [...new Set([...AUDIT_RULE_IDS, ...ids])];
  return {
    rows: results.map(({ appliance, findings, notApplicable, off }) => {
      const counts = new Map<string, number>();
      for (const { rule } of readAuditFindings(findings)) counts.set(rule, (counts.get(rule) ?? 0) + 1);
      const isMissing = (id: string): boolean =>
        !counts.has(id) && [notApplicable, off].some((ids) => Array.isArray(ids) && ids.includes(id));
      return { appliance, ...Object.fromEntries(columns.map((id) => [id, isMissing(id) ? null : (counts.get(id) ?? 0)])) };
    }),
  };
}
