import { badInput } from '../model/error';
import type { JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { safeMessage } from '../model/safe-message';
import { readListOrFile, type ListOrFile } from './audit-files';
import type { AuditLimits, AuditRule, AuditSubject } from './audit-rule';
import { compareFindings } from './compare-findings';
import { ConfigurationIndex } from './configuration-index';
import { applyExceptions, parseExceptions, type ExceptedFinding } from './exceptions';
import { AUDIT_SEVERITIES, readAuditFindings, type AuditFinding } from './finding';
import { compileUserRules } from './own-rules';
import { readAuditSource } from './read-subject';
import { writeCsvReport, writeHtmlReport, writeMarkdownReport, writeTextReport, type AuditReportInput } from './report';
import { auditRules, DEFAULT_AUDIT_LIMITS } from './rules';
import { removeMemberListings } from './remove-member-listings';

interface AuditInput {
  readonly source: 'appliance' | 'folder' | 'message';
  readonly folder?: string;
  readonly snapshot?: JsonObject;
  readonly rules?: ListOrFile;
  readonly off?: string[];
  readonly limits?: JsonObject;
  readonly exceptions?: ListOrFile;
  readonly previous?: JsonObject;
  readonly format: 'none' | 'html' | 'markdown' | 'csv';
}

export interface AuditData {
  readonly appliance: string;
  /** Number of rules that were checked. */
  readonly checked: number;
  /** Number of rules without a finding. */
  readonly passed: number;
  readonly findings: readonly AuditFinding[];
  readonly excepted: readonly ExceptedFinding[];
  /** Rules that do not fit this configuration. */
  readonly notApplicable: readonly string[];
  /** Rules that were switched off, if there are any. */
  readonly off?: readonly string[];
  /** Paths that the account may not read, if there are any. */
  readonly unreadable?: readonly string[];
  readonly new?: readonly AuditFinding[];
  readonly solved?: readonly AuditFinding[];
  readonly unchanged?: readonly AuditFinding[];
}

const LIST_LIMITS = ['releases', 'serial-numbers', 'operations'];

/** Performs `audit.run`. Errors: those of a read; `BAD_INPUT` for rules, limits and exceptions that cannot be read. */
export async function runAudit(input: AuditInput, effects: ReadonlyMap<string, string>, call: OperationContext): Promise<AuditData> {
  const ownRules = await compileUserRules(await readListOrFile(input.rules, 'rules'));
  const exceptions = parseExceptions(await readListOrFile(input.exceptions, 'exceptions'));
  const rules = selectRules([...auditRules, ...ownRules], input.off ?? []);
  const limits = parseLimits(input.limits, effects);
  const previous = parsePrevious(input.previous);
  const { appliance, resources, ...source } = await readAuditSource(input, call);
  const now = Date.now();
  const index = new ConfigurationIndex(removeMemberListings(resources));
  const checked = await runAuditRules(rules, { ...source, index, limits, now, effects });
  const { findings, excepted } = applyExceptions(checked.findings, exceptions, rules, now);
  const failed = new Set(findings.map(({ rule }) => rule));
  const checkedRules = rules.filter(({ id }) => !checked.notApplicable.includes(id));
  const { notApplicable } = checked;
  const data = {
    appliance,
    checked: checkedRules.length,
    passed: checkedRules.filter(({ id }) => !failed.has(id)).length,
    findings,
    excepted,
    notApplicable,
    ...(input.off && input.off.length > 0 && { off: input.off }),
    ...(source.unreadable.size > 0 && { unreadable: [...source.unreadable].sort() }),
  };
  const changes = previous && compareFindings(previous, data, { ...source, rules: rules.map(({ id }) => id) });
  const reportInput = { appliance, time: new Date(now).toISOString(), findings, excepted, notApplicable };
  const counts = Object.fromEntries(
    AUDIT_SEVERITIES.map((severity) => [severity, findings.filter((one) => one.severity === severity).length]),
  );
  const report = await createReport(input.format, reportInput);
  call.addToEnvelope({ text: writeTextReport(reportInput), ...counts, ...(report !== undefined && { report }) });
  return { ...data, ...changes };
}

/** Runs every rule. Findings are sorted by severity and path. */
export async function runAuditRules(
  rules: readonly AuditRule[],
  subject: AuditSubject,
): Promise<{ findings: AuditFinding[]; notApplicable: string[] }> {
  const findings: AuditFinding[] = [];
  const notApplicable: string[] = [];
  for (const rule of rules) {
    const faults = await rule.check(subject);
    if (!faults) notApplicable.push(rule.id);
    for (const { path, name, message = rule.message, evidence } of faults ?? [])
      findings.push({ rule: rule.id, severity: rule.severity, path, name, message, fix: rule.fix, evidence });
  }
  const rank = ({ severity }: AuditFinding): number => AUDIT_SEVERITIES.indexOf(severity);
  return { findings: findings.sort((a, b) => rank(a) - rank(b)), notApplicable };
}

function selectRules(rules: readonly AuditRule[], off: readonly string[]): AuditRule[] {
  const unknown = off.find((id) => !rules.some((rule) => rule.id === id));
  if (unknown !== undefined) throw badInput(safeMessage`off names the rule ${unknown}, which does not exist.`);
  return rules.filter(({ id }) => !off.includes(id));
}

function parseLimits(given: JsonObject = {}, effects: ReadonlyMap<string, string>): AuditLimits {
  for (const [name, value] of Object.entries(given)) {
    const isList = LIST_LIMITS.includes(name);
    if (!isList && !Object.hasOwn(DEFAULT_AUDIT_LIMITS, name)) throw badInput(safeMessage`limits has ${name}, which is not a limit.`);
    const isValid = isList
      ? Array.isArray(value) && value.every((item) => typeof item === 'string')
      : typeof value === 'number' && Number.isFinite(value) && value >= 0;
    if (!isValid) throw badInput(safeMessage`limits: ${name} must be ${isList ? 'a list of texts' : 'a number from 0'}.`);
  }
  const limits: AuditLimits = { ...DEFAULT_AUDIT_LIMITS, ...given };
  const unknown = limits.operations?.find((name) => !effects.has(name));
  if (unknown !== undefined)
    throw badInput(safeMessage`limits: operations has ${unknown}, which is not an operation. Enter a name such as sessions.list.`);
  return limits;
}

function parsePrevious(previous: JsonObject | undefined): AuditFinding[] | undefined {
  if (previous === undefined) return undefined;
  if (!Array.isArray(previous['findings'])) throw badInput('previous is not the result of an audit: it has no findings.');
  return readAuditFindings(previous['findings']);
}

async function createReport(format: AuditInput['format'], input: AuditReportInput): Promise<string | undefined> {
  if (format === 'html') return writeHtmlReport(input);
  if (format === 'markdown') return writeMarkdownReport(input);
  return format === 'csv' ? writeCsvReport(input) : undefined;
}
