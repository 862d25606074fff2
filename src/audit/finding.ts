import { isObject } from '../model/json';

/** How serious a finding is. */
export const AUDIT_SEVERITIES = ['high', 'medium', 'low'] as const;
export type Severity = (typeof AUDIT_SEVERITIES)[number];

/** The field that shows the fault: a JSON pointer and its value, with secrets masked. */
export interface Evidence {
  readonly field: string;
  readonly value: unknown;
}

/** One fault. `path` is the path of the resource as in a snapshot; empty for facts outside the configuration. */
export interface AuditFinding {
  readonly rule: string;
  readonly severity: Severity;
  readonly path: string;
  readonly name: string;
  readonly message: string;
  readonly fix: string;
  readonly evidence: Evidence | null;
}

/** A fault as a check reports it, before the texts of the rule are added. */
export interface AuditRuleFault {
  readonly path: string;
  readonly name: string;
  /** A message that replaces the message of the rule. */
  readonly message?: string;
  readonly evidence: Evidence | null;
}

/** Whether a value from a message or file is an audit finding. */
export function isAuditFinding(value: unknown): value is AuditFinding {
  return isObject(value) && typeof value['rule'] === 'string' && typeof value['path'] === 'string';
}

/** Reads the audit findings of a value from a message or file. */
export function readAuditFindings(value: unknown): AuditFinding[] {
  return Array.isArray(value) ? value.filter(isAuditFinding) : [];
}
