import { describe, expect, it } from 'vitest';
import { ConfigurationIndex } from '../../../src/audit/configuration-index';
import { auditRules } from '../../../src/audit/rules';
import { runAuditRules } from '../../../src/audit/run-audit';
import type { JsonObject } from '../../../src/model/json';
import { toSubject } from './audit-subject';
import { plantFaults } from './planted-faults';

describe('audit rules', () => {
  it('the audit rules have the ids that the contract lists', () => {
    expect(auditRules.map(({ id }) => id).sort()).toEqual(
      [
        ...['unused-object', 'dangling-reference', 'duplicate-object', 'certificate-ends', 'certificate-weak', 'release-not-listed'],
        ...['admin-realm-open', 'admin-realm-single-factor', 'session-too-long', 'user-one-time', 'user-never-used'],
        ...['license-nearly-used', 'cluster-member-down', 'health-over-limit', 'well-known-community', 'account-has-more-rights'],
      ].sort(),
    );
  });

  it.each(auditRules.map((rule) => [rule.id, rule] as const))(
    'audit rule %s finds its fault and accepts its sound example',
    async (_id, rule) => {
      expect(await rule.check(toSubject(rule.passes))).toEqual([]);
      expect(await rule.check(toSubject(rule.fails))).toHaveLength(1);
    },
  );

  it.each([1, 2, 3, 4, 5])('the audit rules find exactly the faults of the random tree %i', async (seed) => {
    const { resources, faults, subject: facts } = plantFaults(seed, 2000, 60);
    expect(new Set([...faults].map((fault) => fault.split(' ')[0])).size).toBe(auditRules.length);
    const subject = { ...toSubject({ ...facts, resources: {} }), index: new ConfigurationIndex(resources) };
    const { findings } = await runAuditRules(auditRules, subject);
    expect(findings.map(({ rule, path, name }) => `${rule} ${path || name}`).sort()).toEqual([...faults].sort());
  });

  it('audit rules report an unknown configuration tree as not applicable, and do not fail', async () => {
    const trees: Record<string, JsonObject>[] = [
      {},
      { '/api/v1/configuration/a': { b: [[['c']]], d: null, e: 5, f: { g: [{ h: true }] } } },
      { '/api/v1/configuration/%E0%A4%A': { name: 7 }, '/api/v1/configuration': { __proto__x: '', constructor: 'x' } },
    ];
    for (const resources of trees) {
      const { findings, notApplicable } = await runAuditRules(auditRules, toSubject({ resources }));
      expect(findings).toEqual([]);
      expect(notApplicable).toContain('unused-object');
      expect(notApplicable).toContain('admin-realm-open');
    }
  });

  it('the audit rules count a name as used in a list, in a comma-separated text or as a whole value of another resource', async () => {
    const resources: Record<string, JsonObject> = { '/api/v1/configuration/x': { a: 'A', b: ['B'], c: 'x, C', d: 'Da' } };
    for (const name of ['A', 'B', 'C', 'D']) resources[`/api/v1/configuration/users/user-role/${name}`] = { name, description: name };
    const { findings } = await runAuditRules(
      auditRules.filter(({ id }) => id === 'unused-object'),
      toSubject({ resources }),
    );
    expect(findings.map(({ name }) => name)).toEqual(['D']);
  });

  it('audit rules count each part of a text with commas as a used name, even if the whole text is a name too', async () => {
    const resources: Record<string, JsonObject> = { '/api/v1/configuration/x': { roles: 'A, B' } };
    for (const name of ['A', 'B', 'A, B', 'Only itself'])
      resources[`/api/v1/configuration/users/user-role/${encodeURIComponent(name)}`] = { name, description: `Role ${name}`, label: name };
    const rules = auditRules.filter(({ id }) => id === 'unused-object');
    expect((await runAuditRules(rules, toSubject({ resources }))).findings.map(({ name }) => name)).toEqual(['Only itself']);
  });

  it('the audit rules do not compare objects whose secrets are masked, in the object or below it', async () => {
    const base = '/api/v1/configuration/users/user-role';
    const resources: Record<string, JsonObject> = {};
    for (const name of ['A', 'B']) {
      resources[`${base}/Secret ${name}`] = { name: `Secret ${name}`, kind: 'own', password: '***' };
      resources[`${base}/Deep ${name}`] = { name: `Deep ${name}`, kind: 'below' };
      resources[`${base}/Deep ${name}/options`] = { list: [{ password: '***' }] };
      resources[`${base}/Plain ${name}`] = { name: `Plain ${name}`, kind: 'plain' };
    }
    const rules = auditRules.filter(({ id }) => id === 'duplicate-object');
    expect((await runAuditRules(rules, toSubject({ resources }))).findings.map(({ name }) => name)).toEqual(['Plain B']);
  });

  it.each([
    ['in exactly 30 days', '2026-07-01T00:00:00Z', 1],
    ['a second later', '2026-07-01T00:00:01Z', 0],
  ])('the rule certificate-ends checks a certificate that ends %s', async (_title, end, count) => {
    const resources = { '/api/v1/configuration/system/certificates/portal': { name: 'portal', 'valid-to': end } };
    const rules = auditRules.filter(({ id }) => id === 'certificate-ends');
    expect((await runAuditRules(rules, toSubject({ resources }))).findings).toHaveLength(count);
  });

  it('the audit rules find the permissions of a built-in role, whose name starts with a dot', async () => {
    const base = '/api/v1/configuration/administrators';
    const resources = {
      [`${base}/admin-realms/realm/Admin%20Users/role-mapping-rules`]: { rule: [{ roles: ['.Administrators', '\ud800'] }] },
      [`${base}/admin-roles/admin-role/%2EAdministrators/system-tasks`]: { access: 'write' },
    };
    const rule = auditRules.find(({ id }) => id === 'account-has-more-rights');
    const subject = toSubject({ resources, limits: { operations: ['sessions.list'] }, live: { realm: 'Admin Users' } });
    expect(await rule?.check(subject)).toMatchObject([{ name: '.Administrators' }]);
  });

  it('the audit rules read all names of a long list', async () => {
    const roles = '/api/v1/configuration/users/user-roles/user-role';
    const names = Array.from({ length: 600 }, (_, index) => `Role number ${index}`);
    const resources = {
      ...Object.fromEntries(names.map((name) => [`${roles}/${encodeURIComponent(name)}`, { name, text: name }])),
      '/api/v1/configuration/users/list': { roles: names.join(', ') },
    };
    const { findings } = await runAuditRules(auditRules, toSubject({ resources }));
    expect(findings.filter(({ rule }) => rule === 'unused-object')).toEqual([]);
  });

  it('a field counts as a reference if at least three resources, and nine of ten, have names of objects in it', async () => {
    const find = async (good: number, bad: number): Promise<number> => {
      const resources: Record<string, JsonObject> = { '/api/v1/configuration/s/server/Corp': { name: 'Corp', port: 1 } };
      for (let number = 0; number < good + bad; number++)
        resources[`/api/v1/configuration/u/item/I${number}`] = { name: `I${number}`, server: number < good ? 'Corp' : `Gone ${number}` };
      const rules = auditRules.filter(({ id }) => id === 'dangling-reference');
      return (await runAuditRules(rules, toSubject({ resources }))).findings.length;
    };
    expect([await find(2, 0), await find(3, 1), await find(9, 1), await find(18, 2), await find(17, 2)]).toEqual([0, 0, 1, 2, 0]);
  });
});
