import {
  choiceField,
  defineArea,
  defineOperation,
  listField,
  objectField,
  recordsField,
  payloadField,
  textField,
  type OperationEffect,
} from '../model/operation';
import { tabulateAudits } from '../audit/tabulate-audits';

// Loaded on first use, so that Node-RED starts faster.
const loadAudit = () => import('../audit/index.js');

/** Checks a configuration with rules (contract, section 6, "Audit"). `listEffects` returns the effect of each operation by its full name. */
export const createAuditArea = (listEffects: () => ReadonlyMap<string, OperationEffect>) =>
  defineArea({
    name: 'audit',
    label: 'Gateway audit',
    help: 'Finds unused objects, dangling references, weak settings and certificates that end soon.',
    icon: 'gateway-audit.svg',
    color: '#21BEDE',
    operations: {
      run: defineOperation({
        effect: 'read',
        permissions: {
          reads: 'system information, the configuration, health check, cluster and licenses: rules without their data are not applicable',
        },
        label: 'Audit',
        help: 'Checks the appliance or a snapshot with rules. `msg.envelope.text` lists the findings, `msg.envelope.high`, `msg.envelope.medium` and `msg.envelope.low` count them, and `msg.envelope.report` holds the report in the chosen format.',
        summary: { done: 'Audited __appliance__: __high__ high, __medium__ medium, __low__ low.' },
        data: '`{ appliance, checked, passed, findings: [{ rule, severity, path, name, message, fix, evidence }], excepted, notApplicable }`, and with Previous `new`, `solved` and `unchanged`',
        fields: {
          source: choiceField('Source', 'Where the configuration comes from.', ['appliance', 'folder', 'message'], {
            default: 'appliance',
            guard: true,
          }),
          folder: textField('Folder', 'Folder of a snapshot, for the source `folder`.', {
            guard: true,
            editor: 'folder',
            example: '/var/lib/gateway/vpn-1',
          }),
          snapshot: payloadField(
            objectField('Snapshot', 'A snapshot that `take` returned, for the source `message`.', {
              example: { format: 'gateway-snapshot/1', appliance: 'vpn-1', path: '/api/v1/configuration', resources: {} },
            }),
          ),
          rules: recordsField('Own rules', 'A list of rules, or a YAML or JSON file with them.', { guard: true }),
          off: listField('Rules off', 'Ids of rules that are not checked.', { guard: true, example: ['duplicate-object'] }),
          limits: objectField('Limits', 'Limits of the rules, such as `days` or `idle-timeout`.', { guard: true, example: { days: 14 } }),
          exceptions: recordsField(
            'Exceptions',
            'A list of exceptions, or a YAML or JSON file with them. Each has `rule`, `path`, `reason` and `until`.',
            {
              guard: true,
            },
          ),
          previous: objectField('Previous', 'The result of an earlier audit.', { example: { findings: [] } }),
          format: choiceField('Report', 'Format of the report.', ['none', 'html', 'markdown', 'csv'], { default: 'none' }),
        },
        run: async (input, call) => (await loadAudit()).runAudit(input, listEffects(), call),
        isReport: true,
        aggregate: tabulateAudits,
        example: { input: { source: 'appliance', limits: { days: 14 } }, request: 'GET /api/v1/system/system-information' },
      }),
    },
  });
