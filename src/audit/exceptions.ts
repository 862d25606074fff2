import { badInput } from '../model/error';
import type { JsonObject } from '../model/json';
import { safeMessage } from '../model/safe-message';
import type { AuditRule } from './audit-rule';
import type { AuditFinding } from './finding';
import { createPathMatcher } from './own-rules';

/** An exception that accepts findings of a rule until the end of a day. */
interface AuditException {
  readonly rule: string;
  readonly path: string;
  readonly name: string | undefined;
  readonly reason: string;
  readonly until: string;
  readonly end: number;
}

/** A finding that an exception accepts. */
export type ExceptedFinding = AuditFinding & { readonly reason: string; readonly until: string };

const DAY_MS = 86_400_000;

/** Parses exceptions. Errors: `BAD_INPUT` that names the invalid exception. */
export function parseExceptions(entries: readonly JsonObject[]): AuditException[] {
  return entries.map((entry, index) => {
    const readText = (key: string): string => {
      const value = entry[key];
      if (typeof value === 'string' && value.trim() !== '') return value;
      throw badInput(safeMessage`exceptions: ${key} of number ${index + 1} is missing. Each exception needs rule, path, reason and until.`);
    };
    const until = readText('until').slice(0, 10);
    const end = Date.parse(until) + DAY_MS;
    if (Number.isNaN(end))
      throw badInput(safeMessage`exceptions: until of number ${index + 1} is ${until}. Enter a date such as 2027-01-31.`);
    const path = typeof entry['path'] === 'string' ? entry['path'] : '';
    const name = typeof entry['name'] === 'string' ? entry['name'] : undefined;
    return { rule: readText('rule'), path, name, reason: readText('reason'), until, end };
  });
}

/** Separates accepted findings. An expired exception accepts nothing and is itself a finding. */
export function applyExceptions(
  findings: readonly AuditFinding[],
  exceptions: readonly AuditException[],
  rules: readonly AuditRule[],
  now: number,
): { findings: AuditFinding[]; excepted: ExceptedFinding[] } {
  const remaining: AuditFinding[] = [];
  const excepted: ExceptedFinding[] = [];
  const matched = new Set<AuditException>();
  const matchers = exceptions.map((exception) => ({ exception, matchesPath: createPathMatcher(exception.path) }));
  for (const finding of findings) {
    const matching = matchers
      .filter(({ exception, matchesPath }) => exception.rule === finding.rule && isSame(exception, finding, matchesPath))
      .map(({ exception }) => exception);
    const valid = matching.find(({ end }) => end > now);
    const [ended] = matching;
    if (valid) excepted.push({ ...finding, reason: valid.reason, until: valid.until });
    else if (ended) {
      matched.add(ended);
      remaining.push({ ...finding, message: `${finding.message} The exception ended on ${ended.until}.` });
    } else remaining.push(finding);
  }
  for (const exception of exceptions) {
    if (exception.end > now || matched.has(exception)) continue;
    const { rule, path, name = '', until } = exception;
    const severity = rules.find(({ id }) => id === rule)?.severity ?? 'low';
    const fix = 'Remove the exception, or give it a new end.';
    remaining.push({
      rule,
      severity,
      path,
      name,
      message: `The exception ended on ${until}.`,
      fix,
      evidence: { field: '/until', value: until },
    });
  }
  return { findings: remaining, excepted };
}

function isSame(exception: AuditException, finding: AuditFinding, matchesPath: (path: string) => boolean): boolean {
  if (exception.name !== undefined && exception.name !== finding.name) return false;
  return exception.path === finding.path || exception.path === '' || (finding.path !== '' && matchesPath(finding.path));
}
