import type { AuditSubject, AuditRuleExample } from '../../../src/audit/audit-rule';
import { ConfigurationIndex } from '../../../src/audit/configuration-index';
import type { AuditFinding } from '../../../src/audit/finding';
import { auditRules, DEFAULT_AUDIT_LIMITS } from '../../../src/audit/rules';
import { runAuditRules } from '../../../src/audit/run-audit';
import type { JsonObject } from '../../../src/model/json';

/** A subject of the rules on 2026-06-01. */
export function toSubject({ resources, release, limits, live }: AuditRuleExample): AuditSubject {
  return {
    index: new ConfigurationIndex(new Map(Object.entries(resources))),
    release: release ?? null,
    serialNumber: null,
    limits: { ...DEFAULT_AUDIT_LIMITS, ...limits },
    live: live ?? {},
    weakSecrets: new Map(),
    now: Date.parse('2026-06-01T00:00:00Z'),
    effects: new Map([['sessions.list', 'read']]),
  };
}

/** Checks one rule on the resources, whose paths are below the root of the configuration. Returns undefined if the rule does not fit. */
export async function checkRule(
  id: string,
  resources: Readonly<Record<string, JsonObject>>,
  live: AuditRuleExample['live'] = {},
  facts: Partial<Pick<AuditSubject, 'unreadable' | 'isPart' | 'limits'>> = {},
): Promise<AuditFinding[] | undefined> {
  const full = Object.fromEntries(Object.entries(resources).map(([path, resource]) => [`/api/v1/configuration/${path}`, resource]));
  const rules = auditRules.filter((rule) => rule.id === id);
  const { findings, notApplicable } = await runAuditRules(rules, { ...toSubject({ resources: full, live }), ...facts });
  return notApplicable.length > 0 ? undefined : findings;
}
