import type { Expression } from 'jsonata';
import { badInput } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { CONFIGURATION_ROOT, encodePathSegment } from '../model/path';
import { safeMessage, type SafeMessage } from '../model/safe-message';
import type { AuditRule, AuditSubject } from './audit-rule';
import { decodePathSegment } from './configuration-index';
import { AUDIT_SEVERITIES, type AuditRuleFault, type Severity } from './finding';
import { auditRules } from './rules';

/** A user-defined rule. A resource for which its condition is true is a finding. */
interface RuleText {
  readonly id: string;
  readonly severity: Severity;
  readonly title: string;
  readonly path: string;
  readonly condition: string;
  readonly message: string;
  readonly fix: string;
}

/** Time limit for evaluating one condition on one resource. */
const MAX_CONDITION_MS = 1000;
const MAX_CONDITION_DEPTH = 500;
const ID = /^[a-z0-9][a-z0-9-]{0,63}$/i;

/** Compiles user-defined rules and runs their examples. Errors: `BAD_INPUT` that names the rule. */
export async function compileUserRules(entries: readonly JsonObject[]): Promise<AuditRule[]> {
  const rules: AuditRule[] = [];
  for (const [index, entry] of entries.entries()) {
    const label = typeof entry['id'] === 'string' && entry['id'] !== '' ? entry['id'] : `number ${index + 1}`;
    const rule = parseRule(entry, label);
    // The table of many audits has a column with the name of the appliance.
    if (rule.id === 'appliance' || [...auditRules, ...rules].some(({ id }) => id === rule.id))
      throw createRuleError(label, 'its id is in use');
    rules.push(await compileRule(rule, entry, label));
  }
  return rules;
}

function parseRule(entry: JsonObject, label: string): RuleText {
  const readText = (key: string): string => {
    const value = entry[key];
    if (typeof value === 'string' && value.trim() !== '') return value;
    throw createRuleError(label, `${key} is missing or not a text`);
  };
  const severity = AUDIT_SEVERITIES.find((known) => known === entry['severity']);
  if (!severity) throw createRuleError(label, `severity must be one of ${AUDIT_SEVERITIES.join(', ')}`);
  const id = readText('id');
  if (!ID.test(id)) throw createRuleError(label, 'its id may have only letters, digits and hyphens');
  const title = readText('title');
  const message = typeof entry['message'] === 'string' ? entry['message'] : title;
  return { id, severity, title, message, path: readText('path'), condition: readText('condition'), fix: readText('fix') };
}

async function compileRule(rule: RuleText, entry: JsonObject, label: string): Promise<AuditRule> {
  const { default: jsonata } = await import('jsonata');
  let expression: Expression;
  try {
    expression = jsonata(rule.condition);
  } catch {
    throw createRuleError(label, 'its condition is not valid JSONata');
  }
  let depth = 0;
  let deadline = 0;
  // JSONata calls these two around each step. An endless recursion would stop Node-RED.
  expression.assign('__evaluate_entry', () => {
    if (++depth > MAX_CONDITION_DEPTH || performance.now() > deadline) throw new Error('The condition takes too long.');
  });
  expression.assign('__evaluate_exit', () => depth--);
  const isFault = async (resource: JsonObject, bindings: Record<string, unknown>, at = 'its example'): Promise<boolean> => {
    try {
      depth = 0;
      deadline = performance.now() + MAX_CONDITION_MS;
      const result: unknown = await expression.evaluate(resource, bindings);
      return Array.isArray(result) ? result.some(Boolean) : Boolean(result);
    } catch {
      throw createRuleError(label, safeMessage`its condition fails or takes too long for ${at}`);
    }
  };
  for (const [key, expected] of [
    ['passes', false],
    ['fails', true],
  ] as const) {
    const example = entry[key];
    if (example === undefined) continue;
    if (!isObject(example) || (await isFault(example, {})) !== expected)
      throw createRuleError(label, `its example ${key} does not do what it says`);
  }
  const matches = createPathMatcher(rule.path);
  const { id, severity, title, message, fix } = rule;
  const check = async ({ index, limits }: AuditSubject): Promise<AuditRuleFault[] | undefined> => {
    const paths = index.paths.filter(matches);
    if (paths.length === 0) return undefined;
    const found: AuditRuleFault[] = [];
    for (const path of paths) {
      const name = index.findOwner(path)?.name ?? '';
      if (await isFault(index.resources.get(path) ?? {}, { path, name, limits }, path)) found.push({ path, name, evidence: null });
    }
    return found;
  };
  return { id, severity, title, message, fix, check, passes: { resources: {} }, fails: { resources: {} } };
}

/** Matches paths with a pattern in which `*` is one segment. Starts below the root of the configuration, or with it. Names may be encoded or not. */
export function createPathMatcher(pattern: string): (path: string) => boolean {
  const segments = splitPathPattern(pattern);
  return (path) => {
    const names = path.slice(CONFIGURATION_ROOT.length).split('/').slice(1);
    return names.length === segments.length && segments.every((segment, index) => segment === '*' || segment === names[index]);
  };
}

/** Returns the pattern as the path of a resource: with the root of the configuration and encoded names. */
export function toFullPath(pattern: string): string {
  return [CONFIGURATION_ROOT, ...splitPathPattern(pattern)].join('/');
}

function splitPathPattern(pattern: string): string[] {
  const below = pattern.startsWith(`${CONFIGURATION_ROOT}/`) ? pattern.slice(CONFIGURATION_ROOT.length) : `/${pattern}`;
  return below
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => (segment === '*' ? segment : encodePathSegment(decodePathSegment(segment).toWellFormed())));
}

function createRuleError(rule: string, reason: string | SafeMessage): Error {
  return badInput(safeMessage`The rule ${rule} cannot be used: ${reason}. The audit has no result.`);
}
