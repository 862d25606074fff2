import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { AuditData } from '../../../src/audit/run-audit';
import { auditRules } from '../../../src/audit/rules';
import { AUDIT_RULE_IDS, tabulateAudits } from '../../../src/audit/tabulate-audits';
import { findSecret } from '../../helpers/secret-encodings';
import { expectFailure, listWriteLines, startSimulatorWithGateway } from '../../helpers/simulated-appliance';

const ROOT = '/api/v1/configuration';
const snapshot = (resources: Record<string, object>) => ({ format: 'gateway-snapshot/1', appliance: 'vpn-1', path: ROOT, resources });
const ROLE = `${ROOT}/users/user-roles/user-role/Old`;
const oldRole = snapshot({ [ROLE]: { name: 'Old', description: '=1+1|<b>' } });
const message = { source: 'message', snapshot: oldRole };
const rule = {
  ...{ id: 'own-description', severity: 'high', title: 'Formulas', path: 'users/user-roles/user-role/*', fix: 'Change it.' },
  condition: '$contains(description, "=")',
};

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('audit.run', () => {
  it('audit.run masks a secret of the settings that is the name of an object, in the data and in every report', async () => {
    const password = 'Planted-Pa55/word+1';
    const { gateway } = await startSimulatorWithGateway({ password }, { password });
    await gateway.run('config.create', { path: 'users/user-roles/user-role', body: { name: `Old ${password}` } });
    for (const format of ['html', 'markdown', 'csv', 'none']) {
      const { data, envelope } = await gateway.run('audit.run', { format });
      expect((data as AuditData).findings.some(({ rule: id, name }) => id === 'unused-object' && name.startsWith('Old '))).toBe(true);
      expect(findSecret(JSON.stringify([data, envelope]), { password }), format).toBeUndefined();
    }
  });

  it('audit.run reports the same findings for the appliance and for its snapshot, and writes nothing', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { data, envelope } = await gateway.run('audit.run', {});
    const { findings } = data as AuditData;
    const keys = findings.map((finding) => `${finding.rule} ${finding.name}`);
    expect(keys).toEqual(expect.arrayContaining(['admin-realm-open Admin Users', 'unused-object Unused']));
    expect(listWriteLines(simulator)).toEqual([]);
    expect(envelope['summary']).toMatch(/^Audited \S+: \d+ high, \d+ medium, \d+ low\.$/);
    const folder = createFolder();
    await gateway.run('snapshot.take', { folder });
    const stored = (await gateway.run('audit.run', { source: 'folder', folder })).data as AuditData;
    const inTree = findings.filter(
      ({ path, rule: id }) => path !== '' && id !== 'well-known-community' && id !== 'account-has-more-rights',
    );
    expect(stored.findings).toEqual(inTree);
    expect(stored.notApplicable).toContain('health-over-limit');
  });

  it('audit.run masks the SNMP community in a finding', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const { findings } = (await gateway.run('audit.run', {})).data as AuditData;
    const found = findings.filter(({ rule: id }) => id === 'well-known-community');
    for (const finding of found) expect(finding.evidence).toEqual({ field: '/community', value: '***' });
  });

  it('audit.run takes user-defined rules from a list or a YAML file, and can switch off built-in rules', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const file = join(createFolder(), 'rules.yaml');
    writeFileSync(
      file,
      // Editors of Windows start a file with a byte order mark.
      `\uFEFF- id: own-description\n  severity: high\n  title: Formulas\n  path: users/user-roles/user-role/*\n  fix: Change it.\n  condition: '$contains(description, "=")'\n`,
    );
    for (const rules of [[rule], file]) {
      const { findings } = (await gateway.run('audit.run', { ...message, rules, off: ['unused-object'] })).data as AuditData;
      expect(findings).toEqual([
        { rule: rule.id, severity: 'high', path: ROLE, name: 'Old', message: rule.title, fix: rule.fix, evidence: null },
      ]);
    }
  });

  it.each([
    ['a condition that is not JSONata', { rules: [{ ...rule, condition: '(' }] }, 'own-description'],
    ['a severity that does not exist', { rules: [{ ...rule, severity: 'huge' }] }, 'own-description'],
    ['an example that does not fail', { rules: [{ ...rule, fails: { description: 'x' } }] }, 'own-description'],
    ['an id of the package', { rules: [{ ...rule, id: 'unused-object' }] }, 'unused-object'],
    ['a rule without an id', { rules: [{ severity: 'low' }] }, 'number 1'],
    ['an unknown rule to switch off', { off: ['nothing'] }, 'nothing'],
    ['an id that is a column of the table of audits', { rules: [{ ...rule, id: 'appliance' }] }, 'its id is in use'],
    ['rules that are texts', { rules: ['x'] }, 'Enter a list of objects'],
    ['an operation that does not exist', { limits: { operations: ['sessions.lst'] } }, 'sessions.lst'],
    ['an empty folder', { source: 'folder', folder: ' ' }, 'folder is missing'],
    ['an unknown limit', { limits: { hours: 3 } }, 'hours'],
    ['a limit that is text', { limits: { days: 'x' } }, 'days'],
    ['an exception without an end', { exceptions: [{ rule: 'unused-object', path: ROLE, reason: 'x' }] }, 'until'],
    [
      'an exception until 2026-02-31',
      { exceptions: [{ rule: 'unused-object', path: ROLE, reason: 'x', until: '2026-02-31' }] },
      '2026-02-31',
    ],
    [
      'an exception until June 1, 2099',
      { exceptions: [{ rule: 'unused-object', path: ROLE, reason: 'x', until: 'June 1, 2099' }] },
      'June 1, 2099',
    ],
    ['an exception until 2099-1-1', { exceptions: [{ rule: 'unused-object', path: ROLE, reason: 'x', until: '2099-1-1' }] }, '2099-1-1'],
    [
      'an exception until 2099-01-011',
      { exceptions: [{ rule: 'unused-object', path: ROLE, reason: 'x', until: '2099-01-011' }] },
      '2099-01-011',
    ],
    [
      'an exception whose path is a list',
      { exceptions: [{ rule: 'unused-object', path: [ROLE], reason: 'x', until: '2099-01-01' }] },
      'path of number 1 is not a text',
    ],
    [
      'an exception without path and name',
      { exceptions: [{ rule: 'unused-object', reason: 'x', until: '2099-01-01' }] },
      'neither path nor name',
    ],
    ['a snapshot that is none', { snapshot: {} }, 'snapshot is not a snapshot'],
    ['a previous result without findings', { previous: { a: 1 } }, 'previous'],
  ])('audit.run refuses %s', async (_title, input, named) => {
    const { gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run('audit.run', { ...message, ...input }));
    expect(error.code).toBe('BAD_INPUT');
    expect(error.message).toContain(named);
  });

  it('audit.run accepts a finding until its exception expires, and then reports the exception', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const run = async (until: string): Promise<AuditData> => {
      const exceptions = [{ rule: 'unused-object', path: 'users/user-roles/user-role/Old', reason: 'kept', until }];
      return (await gateway.run('audit.run', { ...message, exceptions })).data as AuditData;
    };
    expect(await run('2999-01-01')).toMatchObject({ findings: [], excepted: [{ name: 'Old', reason: 'kept' }] });
    expect(await run('2020-01-01')).toMatchObject({
      findings: [{ message: expect.stringContaining('ended on 2020-01-01') as string }],
      excepted: [],
    });
  });

  it('audit.run reports an ended exception without a finding with the full path of the resource', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const exceptions = [{ rule: 'unused-object', path: 'users/user-role/Night Shift', reason: 'kept', until: '2020-01-01' }];
    const { data } = await gateway.run('audit.run', { ...message, off: ['unused-object'], exceptions });
    expect(data).toMatchObject({
      findings: [{ path: `${ROOT}/users/user-role/Night%20Shift`, message: 'The exception ended on 2020-01-01.' }],
    });
  });

  it('audit.run reports a finding with two ended exceptions once', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const ended = { rule: 'unused-object', path: ROLE, reason: 'kept', until: '2020-01-01' };
    const { data } = await gateway.run('audit.run', { ...message, exceptions: [ended, { ...ended, until: '2021-01-01' }] });
    expect((data as AuditData).findings).toHaveLength(1);
  });

  it('audit.run names the appliance of the snapshot in the summary', async () => {
    const { gateway } = await startSimulatorWithGateway();
    expect((await gateway.run('audit.run', message)).envelope['summary']).toBe('Audited vpn-1: 0 high, 0 medium, 1 low.');
  });

  it('audit.run does not report findings as solved that it could not check this time', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const finding = (id: string, path: string, value: unknown = 1) => ({ rule: id, path, name: 'x', evidence: { field: '/f', value } });
    const findings = [
      finding('own-rule-of-last-month', ROLE),
      finding('certificate-ends', ''),
      finding('well-known-community', `${ROOT}/uac/snmpEnforcement/clients/client/x`, '***'),
    ];
    const certificates = { [`${ROOT}/system/certificates/x`]: { name: 'x', 'valid-to': '2099-01-01' } };
    const input = { source: 'message', snapshot: snapshot(certificates), previous: { findings } };
    expect((await gateway.run('audit.run', input)).data).toMatchObject({ new: [], solved: [], unchanged: [] });
    const part = { ...snapshot({}), path: `${ROOT}/system` };
    const outside = [finding('session-too-long', `${ROOT}/users/x`), finding('unused-object', `${ROOT}/system/profiles/x`)];
    const previous = { findings: [...outside, finding('session-too-long', `${ROOT}/system/x`)] };
    expect((await gateway.run('audit.run', { ...input, snapshot: part, previous })).data).toMatchObject({
      solved: [{ path: `${ROOT}/system/x` }],
    });
  });

  it.each(['users/user-role/Night Shift', 'users/user-role/Night%20Shift', `${ROOT}/users/user-role/Night%20Shift`])(
    'audit.run accepts encoded and unencoded names in the paths of exceptions and rules: %s',
    async (path) => {
      const { gateway } = await startSimulatorWithGateway();
      const night = snapshot({ [`${ROOT}/users/user-role/Night%20Shift`]: { name: 'Night Shift' } });
      const exceptions = [{ rule: 'unused-object', path, reason: 'kept', until: '2999-01-01' }];
      const rules = [{ ...rule, path, condition: 'true' }];
      const { data } = await gateway.run('audit.run', { source: 'message', snapshot: night, exceptions, rules });
      expect(data).toMatchObject({ findings: [{ rule: rule.id }], excepted: [{ name: 'Night Shift' }] });
    },
  );

  it('an audit exception in YAML whose name is a number accepts only findings of this name', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const file = join(createFolder(), 'exceptions.yaml');
    writeFileSync(file, '- { rule: unused-object, name: 42, reason: kept, until: 2999-01-01 }');
    const roles = ['42', 'Old'].map((name): [string, object] => [`${ROOT}/users/user-role/${name}`, { name }]);
    const input = { source: 'message', snapshot: snapshot(Object.fromEntries(roles)), exceptions: file };
    const { data } = await gateway.run('audit.run', input);
    expect(data).toMatchObject({ findings: [{ name: 'Old' }], excepted: [{ name: '42' }] });
  });

  it('audit.run does not report the findings of a rule as solved if the rule is now off', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const first = (await gateway.run('audit.run', message)).data as AuditData;
    const data = (await gateway.run('audit.run', { ...message, off: ['unused-object'], previous: { ...first } })).data as AuditData;
    expect(data).toMatchObject({ findings: [], solved: [], off: ['unused-object'] });
    expect(tabulateAudits([data]).rows).toMatchObject([{ 'unused-object': null }]);
  });

  it('audit.run compares its findings with those of the previous run', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const first = (await gateway.run('audit.run', message)).data as AuditData;
    const other = snapshot({ [`${ROLE}er`]: { name: 'Older', description: 'x' } });
    const { data } = await gateway.run('audit.run', { ...message, snapshot: other, previous: { ...first } });
    expect(data).toMatchObject({ new: [{ name: 'Older' }], solved: [{ name: 'Old' }], unchanged: [] });
    expect((await gateway.run('audit.run', { ...message, previous: { ...first } })).data).toMatchObject({
      new: [],
      solved: [],
      unchanged: [{}],
    });
  });

  it('audit.run stops a rule condition that never ends', async () => {
    const endless = { ...rule, condition: '($f := function($n){ $f($n + 1) }; $f(1))' };
    const { gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run('audit.run', { ...message, rules: [endless] }));
    expect(error).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining(`fails or takes too long for ${ROLE}`) as string });
  });

  it('audit.run does not stop a rule condition because the clock is set ahead', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const clock = vi.spyOn(Date, 'now');
    onTestFinished(() => clock.mockRestore());
    const started = Date.now();
    let jumps = 0;
    clock.mockImplementation(() => started + 3_600_000 * jumps++);
    const { data } = await gateway.run('audit.run', { ...message, rules: [{ ...rule, condition: '$count([1..9]) = 9' }] });
    expect(data).toMatchObject({ findings: expect.arrayContaining([expect.objectContaining({ rule: rule.id })]) as unknown });
  });

  it('audit.run escapes CSV cells that contain a formula and a line break', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const broken = snapshot({ [`${ROOT}/users/user-role/%3D1%2B1%0Ab`]: { name: '=1+1\nb' } });
    const { envelope } = await gateway.run('audit.run', {
      source: 'message',
      snapshot: broken,
      rules: [{ ...rule, condition: 'true' }],
      format: 'csv',
    });
    expect(envelope['report']).toContain(`"'=1+1\nb"`);
  });

  it('audit.run writes reports in which names of the appliance cannot act as markup or formulas', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const evil = snapshot({
      [`${ROOT}/users/user-role/%3Db`]: { name: '=b', x: '' },
      [`${ROOT}/users/user-role/%3Cb%3E%7C`]: { name: '<b>|' },
    });
    const report = async (format: 'html' | 'markdown' | 'csv'): Promise<string> =>
      String((await gateway.run('audit.run', { source: 'message', snapshot: evil, format })).envelope['report']);
    const html = await report('html');
    expect(html).toContain('&lt;b&gt;|');
    expect(html).not.toMatch(/<script|<b>|https?:/);
    expect(await report('markdown')).toContain('&lt;b&gt;\\|');
    expect(await report('csv')).toContain(`,"'=b",`);
  });

  it('audit.run shows apostrophes, tildes and line breaks in names unchanged in Markdown and text', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const name = "O'Neil\nlow ~~x~~";
    const snapshotOfRole = snapshot({ [`${ROOT}/users/user-role/${encodeURIComponent(name).replace("'", '%27')}`]: { name } });
    const { envelope } = await gateway.run('audit.run', { source: 'message', snapshot: snapshotOfRole, format: 'markdown' });
    expect(envelope['report']).toContain('| O&#39;Neil low \\~\\~x\\~\\~ |');
    expect(String(envelope['text']).split('\n')).toHaveLength(1);
  });

  it('audit.run ignores a finding without a path in the previous result', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const previous = { findings: [{ rule: 'unused-object' }, 7, null] };
    expect((await gateway.run('audit.run', { ...message, previous })).data).toMatchObject({ new: [{ name: 'Old' }], solved: [] });
  });

  it('audit.run on many appliances returns a table of appliances and rules', () => {
    const rows = tabulateAudits([{ appliance: 'a', findings: [{ rule: 'unused-object', path: '' }], notApplicable: ['certificate-ends'] }]);
    expect(rows.rows).toEqual([
      expect.objectContaining({ appliance: 'a', 'unused-object': 1, 'certificate-ends': null, 'session-too-long': 0 }),
    ]);
    expect(AUDIT_RULE_IDS).toEqual(auditRules.map(({ id }) => id));
  });
});
