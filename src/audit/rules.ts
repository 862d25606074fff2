import { accessRules } from './access-rules';
import type { AuditLimits, AuditRule } from './audit-rule';
import { certificateRules } from './certificate-rules';
import { objectRules } from './object-rules';
import { statusRules } from './status-rules';

/** All rules of the package. */
export const auditRules: readonly AuditRule[] = [...objectRules, ...certificateRules, ...accessRules, ...statusRules];

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
