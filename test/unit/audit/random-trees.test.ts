import fc from 'fast-check';
import { expect, it } from 'vitest';
import { auditRules } from '../../../src/audit/rules';
import { runAuditRules } from '../../../src/audit/run-audit';
import { isObject, type JsonObject } from '../../../src/model/json';
import { toSubject } from './audit-subject';

// A model of the audit as the contract defines it (section 6, "Audit"): it compares all with all, and shares no code with the audit.
const ROOT = '/api/v1/configuration';
const NOTHING = /^(?:|none|any|all|\*|-|default|true|false|enabled|disabled)$/i;
const RULES = ['unused-object', 'dangling-reference', 'duplicate-object'];
type Tree = Readonly<Record<string, JsonObject>>;
interface Held {
  /** The field with `*` for positions in a list. */
  readonly field: string;
  readonly pointer: string;
  readonly value: string;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

const collectionOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));
const isMember = (tree: Tree, path: string): boolean => tree[path]?.['name'] === path.slice(path.lastIndexOf('/') + 1);
const partsOf = (value: string): string[] => (value.includes(',') ? value.split(',').map((part) => part.trim()) : [value]);

function textsOf(value: unknown, field: string, pointer: string): Held[] {
  if (typeof value === 'string') return [{ field, pointer, value }];
  if (Array.isArray(value)) return value.flatMap((item, at) => textsOf(item, `${field}/*`, `${pointer}/${at}`));
  if (isObject(value)) return Object.entries(value).flatMap(([key, item]) => textsOf(item, `${field}/${key}`, `${pointer}/${key}`));
  return [];
}

/** The texts of a resource except its own name. */
const heldBy = (tree: Tree, path: string): Held[] =>
  Object.entries(tree[path] ?? {}).flatMap(([key, value]) =>
    key === 'name' && isMember(tree, path) ? [] : textsOf(value, `/${key}`, `/${key}`),
  );

const membersOf = (tree: Tree): string[] =>
  Object.keys(tree)
    .filter((path) => isMember(tree, path))
    .sort();
const nameOf = (tree: Tree, path: string): string => String(tree[path]?.['name']);

function findUnused(tree: Tree): string[] {
  const isHeld = (name: string, own: string): boolean =>
    Object.keys(tree).some(
      (path) =>
        path !== own &&
        ((isMember(tree, path) && nameOf(tree, path) === name) ||
          heldBy(tree, path).some(({ value }) => value === name || partsOf(value).includes(name))),
    );
  return membersOf(tree).filter((path) => !isHeld(nameOf(tree, path), path));
}

/** The path with `*` for the names of objects. */
function kindOf(tree: Tree, path: string): string {
  const segments = path.split('/');
  return segments.map((segment, at) => (isMember(tree, segments.slice(0, at + 1).join('/')) ? '*' : segment)).join('/');
}

function findDangling(tree: Tree): string[] {
  const found: string[] = [];
  const members = membersOf(tree);
  const kinds = groupBy(Object.keys(tree), (path) => kindOf(tree, path));
  for (const [kind, paths] of kinds) {
    if (!kind.includes('*')) continue;
    const held = paths.flatMap((path) => heldBy(tree, path).flatMap((one) => partsOf(one.value).map((part) => ({ ...one, part, path }))));
    for (const [, values] of groupBy(held, ({ field }) => field)) {
      const meant = values.filter(({ part }) => !NOTHING.test(part) || members.some((member) => nameOf(tree, member) === part));
      const holders = new Set(meant.map(({ path }) => path)).size;
      const namesOf = (collection: string): Set<string> =>
        new Set(members.filter((member) => collectionOf(member) === collection).map((member) => nameOf(tree, member)));
      const targets = [...new Set(members.map(collectionOf))].map(namesOf).filter((names) => {
        const count = new Set(meant.filter(({ part }) => names.has(part)).map(({ path }) => path)).size;
        return count >= 3 && holders - count <= holders / 10;
      });
      if (targets.length === 0) continue;
      const wrong = meant.filter(({ part }) => !NOTHING.test(part) && !targets.some((names) => names.has(part)));
      const first = new Map(wrong.toReversed().map((one) => [`${one.path} ${one.part}`, one]));
      found.push(...[...first.values()].map(({ path, pointer, part }) => `${path} ${pointer} ${part}`));
    }
  }
  return found.sort();
}

function findDuplicates(tree: Tree): string[] {
  const contentOf = (path: string): unknown => ({
    own: Object.entries({ ...tree[path], name: '' }).sort(([a], [b]) => (a < b ? -1 : 1)),
    below: Object.entries(tree)
      .filter(([other]) => other.startsWith(`${path}/`))
      .map(([other, resource]) => [other.slice(path.length), resource]),
  });
  const isEmpty = (path: string): boolean =>
    !Object.keys(tree).some((other) => other.startsWith(`${path}/`)) &&
    Object.entries(tree[path] ?? {}).every(([key, value]) => key === 'name' || value === '' || JSON.stringify(value) === '[]');
  const seen: string[] = [];
  return membersOf(tree).filter((path) => {
    const content = JSON.stringify([collectionOf(path), contentOf(path)]);
    const isTwin = !isEmpty(path) && seen.includes(content);
    seen.push(content);
    return isTwin;
  });
}

const WORDS = ['Staff', 'Guests', 'Corp', 'Lab', 'Night'];
const word = fc.constantFrom(...WORDS);
const noObject = fc.constantFrom('', 'None', 'none', 'any');
/** Mostly names of objects, so that fields become references. */
const reference = fc.oneof(
  { weight: 40, arbitrary: word },
  { weight: 2, arbitrary: noObject },
  { weight: 1, arbitrary: fc.constant('Gone') },
);
const texts = fc.array(reference, { maxLength: 3 });
const random = fc.record(
  {
    server: reference,
    roles: texts,
    list: texts.map((parts) => parts.join(', ')),
    inner: fc.record({ of: reference, more: texts }),
    note: fc.constantFrom('one', 'two'),
    order: fc.nat(3),
  },
  { requiredKeys: [] },
);
/** Some objects have the same content. */
const content = fc.oneof(random, fc.constantFrom<JsonObject[]>({}, { note: 'one' }, { note: 'one', server: 'Corp' }));
const some = fc.uniqueArray(fc.tuple(word, content), { selector: ([name]) => name, maxLength: 5 });
const named = fc.oneof(some, fc.tuple(...WORDS.map((name) => fc.tuple(fc.constant(name), content))));
const tree = fc
  .record({
    roles: named,
    servers: named,
    realms: fc.array(content, { minLength: 3, maxLength: 40, size: 'max' }),
    rules: fc.array(fc.option(content), { maxLength: 20 }),
    single: content,
  })
  .map(({ roles, servers, realms, rules, single }): Tree => {
    const list: [string, JsonObject][] = [
      ...roles.map(([name, more]): [string, JsonObject] => [`${ROOT}/users/role/${name}`, { name, ...more }]),
      ...servers.map(([name, more]): [string, JsonObject] => [`${ROOT}/auth/server/${name}`, { name, ...more }]),
      ...realms.map((more, at): [string, JsonObject] => [`${ROOT}/users/realm/r${at}`, { name: `r${at}`, ...more }]),
      ...rules.flatMap((more, at): [string, JsonObject][] =>
        more && at < realms.length ? [[`${ROOT}/users/realm/r${at}/rules`, more]] : [],
      ),
      [`${ROOT}/single`, single],
    ];
    return Object.fromEntries(list.sort(([a], [b]) => (a < b ? -1 : 1)));
  });

it('an audit of a random configuration finds exactly the unused, dangling and duplicate objects of an independent model', async () => {
  const counts = [0, 0, 0];
  const rules = auditRules.filter(({ id }) => RULES.includes(id));
  await fc.assert(
    fc.asyncProperty(tree, async (resources) => {
      const { findings } = await runAuditRules(rules, toSubject({ resources }));
      const of = (id: string): typeof findings => findings.filter(({ rule }) => rule === id);
      const expected = [findUnused(resources), findDangling(resources), findDuplicates(resources)];
      for (const [at, paths] of expected.entries()) counts[at] = (counts[at] ?? 0) + paths.length;
      expect(
        of('unused-object')
          .map(({ path }) => path)
          .sort(),
      ).toEqual(expected[0]);
      const dangling = of('dangling-reference').map(({ path, evidence }) => [path, evidence?.field, evidence?.value].join(' '));
      expect(dangling.sort()).toEqual(expected[1]);
      expect(
        of('duplicate-object')
          .map(({ path }) => path)
          .sort(),
      ).toEqual(expected[2]);
    }),
    { numRuns: 120, seed: 20_261_123 },
  );
  // The trees have what the model looks for.
  expect(Math.min(...counts)).toBeGreaterThan(20);
});
