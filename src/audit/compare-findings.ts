import { SECRET_MASK } from '../change/compare';
import { isPathWithin, isPathWithinAny } from '../snapshot/resource-path';
import type { AuditFinding } from './finding';

interface FindingChanges {
  readonly new: AuditFinding[];
  readonly solved: AuditFinding[];
  readonly unchanged: AuditFinding[];
}

/** The parts of an audit result that show what was checked. */
export interface AuditCoverage {
  readonly findings: readonly AuditFinding[];
  readonly notApplicable: readonly string[];
  /** Paths of resources that the account may not read. */
  readonly unreadable?: readonly string[] | undefined;
  /** Rules that were switched off. */
  readonly off?: readonly string[] | undefined;
}

/** The configuration and the rules of one audit. The audit before can have had others. */
interface AuditScope {
  /** Ids of the rules that were checked. */
  readonly rules: readonly string[];
  /** Path that the configuration starts at. */
  readonly root: string;
  readonly isPart: boolean;
  /** Whether this is an appliance and not a snapshot, which has masked secrets and no status. */
  readonly isAppliance: boolean;
}

/**
 * Compares the findings of two runs. Positions in lists and measured values may differ. A finding that was not checked again is not solved.
 */
export function compareFindings(previous: readonly AuditFinding[], audit: AuditCoverage, scope?: AuditScope): FindingChanges {
  const current = audit.findings;
  const isUnchecked = createUncheckedFindingTest(audit);
  const isUnknown = (finding: AuditFinding): boolean => isUnchecked(finding) || (scope !== undefined && isOutOfScope(finding, scope));
  const before = new Set(previous.map(toKey));
  const after = new Set(current.map(toKey));
  return {
    new: current.filter((finding) => !before.has(toKey(finding))),
    solved: previous.filter((finding) => !after.has(toKey(finding)) && !isUnknown(finding)),
    unchanged: current.filter((finding) => before.has(toKey(finding))),
  };
}

/** Rules that need more of the configuration than the resource of the finding. */
const RULES_ACROSS_RESOURCES = ['unused-object', 'dangling-reference', 'duplicate-object', 'admin-realm-single-factor'];

/** Creates a test for findings of an earlier audit that this audit could not check: their rule was off, or their data could not be read. */
export function createUncheckedFindingTest({
  notApplicable,
  unreadable = [],
  off = [],
}: AuditCoverage): (finding: AuditFinding) => boolean {
  const unreadablePaths = new Set(unreadable);
  return ({ rule, path }) =>
    off.includes(rule) ||
    (notApplicable.includes(rule) && (path === '' || unreadablePaths.size > 0)) ||
    (unreadablePaths.size > 0 && RULES_ACROSS_RESOURCES.includes(rule)) ||
    isPathWithinAny(path, unreadablePaths);
}

function isOutOfScope({ rule, path, evidence }: AuditFinding, { rules, root, isPart, isAppliance }: AuditScope): boolean {
  if (!rules.includes(rule)) return true;
  if (isPart && (RULES_ACROSS_RESOURCES.includes(rule) || (path !== '' && !isPathWithin(path, root)))) return true;
  if (isAppliance) return false;
  return rule === 'well-known-community' ? evidence?.value === SECRET_MASK : path === '' && rule !== 'release-not-listed';
}

function toKey({ rule, path, name, evidence }: AuditFinding): string {
  const field = evidence?.field ?? '';
  // A list entry can move, but its value names it.
  const detail = /\/\d+(?:\/|$)/.test(field) ? evidence?.value : field;
  return JSON.stringify([rule, path, name, detail]);
}
