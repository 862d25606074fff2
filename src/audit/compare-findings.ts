import type { AuditFinding } from './finding';

export interface FindingChanges {
  readonly new: AuditFinding[];
  readonly solved: AuditFinding[];
  readonly unchanged: AuditFinding[];
}

/**
 * Compares the findings of two runs. Positions in lists and measured values may differ. A finding outside the configuration whose fact
 * could not be read this time is not solved.
 */
export function compareFindings(
  previous: readonly AuditFinding[],
  current: readonly AuditFinding[],
  notApplicable: readonly string[] = [],
): FindingChanges {
  const before = new Set(previous.map(toKey));
  const after = new Set(current.map(toKey));
  return {
    new: current.filter((finding) => !before.has(toKey(finding))),
    solved: previous.filter((finding) => !after.has(toKey(finding)) && !isUnknown(finding, notApplicable)),
    unchanged: current.filter((finding) => before.has(toKey(finding))),
  };
}

/** Whether a fact outside the configuration could not be read in this run. */
export function isUnknown({ rule, path }: AuditFinding, notApplicable: readonly string[]): boolean {
  return path === '' && notApplicable.includes(rule);
}

function toKey({ rule, path, name, evidence }: AuditFinding): string {
  const field = evidence?.field ?? '';
  // A list entry can move, but its value names it.
  const detail = /\/\d+(?:\/|$)/.test(field) ? evidence?.value : field;
  return JSON.stringify([rule, path, name, detail]);
}
