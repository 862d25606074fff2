import { isObject } from '../model/json';

/** How serious a finding is. */
export const SEVERITIES = ['high', 'medium', 'low'] as const;
export type Severity = (typeof SEVERITIES)[number];

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
export interface RuleFault {
  readonly path: string;
  readonly name: string;
  /** A message that replaces the message of the rule. */
  readonly message?: string;
  readonly evidence: Evidence | null;
}

/** Reads findings in data from outside. */
export function toFindings(value: unknown): AuditFinding[] {
  if (!Array.isArray(value)) return [];
  return value.filter((item: unknown): item is AuditFinding => isObject(item) && typeof item['rule'] === 'string');
}
