import { accessAuditRules } from './access-rules';
import type { AuditLimits, AuditRule } from './audit-rule';
import { certificateAuditRules } from './certificate-rules';
import { objectAuditRules } from './object-rules';
import { statusAuditRules } from './status-rules';

/** All rules of the package. */
export const auditRules: readonly AuditRule[] = [...objectAuditRules, ...certificateAuditRules, ...accessAuditRules, ...statusAuditRules];

/** Limits that apply if the input sets none. */
export const DEFAULT_AUDIT_LIMITS: AuditLimits = {
  days: 30,
  'idle-timeout': 60,
  'max-timeout': 1440,
  license: 90,
  cpu: 90,
  memory: 80,
  disk: 85,
};
