import { badInput } from '../model/error';
import type { JsonObject } from '../model/json';
import { safeMessage } from '../model/safe-message';
import type { AuditRule } from './audit-rule';
import type { AuditFinding } from './finding';
import { createPathMatcher, toFullPath } from './own-rules';

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
/** A date, also at the start of a time. */
const DATE = /^\d{4}-\d{2}-\d{2}(?=$|T)/;

/** Parses exceptions. Errors: `BAD_INPUT` that names the invalid exception. */
export function parseExceptions(entries: readonly JsonObject[]): AuditException[] {
  return entries.map((entry, index) => {
    const readText = (key: string): string => {
      const value = entry[key];
      if (typeof value === 'string' && value.trim() !== '') return value;
      throw badInput(safeMessage`exceptions: ${key} of number ${index + 1} is missing. Each exception needs rule, path, reason and until.`);
    };
    const value = readText('until');
    const until = DATE.exec(value)?.[0] ?? value;
    const end = parseJournalDay(until) + DAY_MS;
    if (Number.isNaN(end))
      throw badInput(safeMessage`exceptions: until of number ${index + 1} is ${until}. Enter a date such as 2027-01-31.`);
    const path = readOptionalText(entry, 'path', index) ?? '';
    const name = readOptionalText(entry, 'name', index);
    if (path === '' && !name)
      throw badInput(
        safeMessage`exceptions: number ${index + 1} has neither path nor name. To accept all findings of a rule, switch it off.`,
      );
    return { rule: readText('rule'), path, name, reason: readText('reason'), until, end };
  });
}

/** YAML reads the name 42 as a number. Any other value that is not a text must not widen the exception to every path or name. */
function readOptionalText(entry: JsonObject, key: string, index: number): string | undefined {
  const value = entry[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw badInput(safeMessage`exceptions: ${key} of number ${index + 1} is not a text.`);
}

/** Returns the start of the day, or NaN. `Date.parse` alone takes February 31 for March 3, and other texts for dates of this time zone. */
function parseJournalDay(text: string): number {
  const time = DATE.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text ? Number.NaN : time;
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
    if (!valid) for (const exception of matching) matched.add(exception);
    if (valid) excepted.push({ ...finding, reason: valid.reason, until: valid.until });
    else if (ended) remaining.push({ ...finding, message: `${finding.message} The exception ended on ${ended.until}.` });
    else remaining.push(finding);
  }
  for (const exception of exceptions) {
    if (exception.end > now || matched.has(exception)) continue;
    const { rule, path, name = '', until } = exception;
    const severity = rules.find(({ id }) => id === rule)?.severity ?? 'low';
    const fix = 'Remove the exception, or give it a new end.';
    remaining.push({
      rule,
      severity,
      path: path === '' ? '' : toFullPath(path),
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
