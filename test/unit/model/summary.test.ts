import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../../../scripts/tools.mjs';
import { operations } from '../../../src/areas';
import type { BulkResult, BulkItemResult } from '../../../src/model/envelope';
import type { ErrorCode } from '../../../src/model/error-codes';
import {
  booleanField,
  choiceField,
  nameListField,
  defineOperation,
  pathField,
  requiredField,
  payloadField,
  textField,
  type Operation,
} from '../../../src/model/operation';
import { defaultTranslate, createSummary, createOperationTitle, type Translate, type SummaryInput } from '../../../src/model/summary';
import { SUMMARY_TEXTS } from '../../../src/model/summary-texts';
import { expectFailure, gatewayFor, readSessionIds, startSimulatorWithGateway } from '../../helpers/simulated-appliance';
import { listJournalFiles, startWithJournal } from '../../helpers/journal';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

const ROLE = 'users/user-roles/user-role/Users';
const USERS = { server: 'System Local', username: 'j.doe' };

describe('The summary of a run', () => {
  it('a run summary counts the items, including those that no longer existed', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 5 });
    const ids = readSessionIds((await gateway.run('sessions.list')).data).slice(0, 3);
    const planned = await gateway.run('sessions.kill', { 'session-id': ids }, { dryRun: true });
    expect(planned.envelope.summary).toBe('Would end 3 sessions.');
    const { envelope } = await gateway.run('sessions.kill', { 'session-id': [...ids, 'sidgone'] });
    expect(envelope.summary).toBe('Ended 3 of 4 sessions; 1 was gone already.');
    expect((await gateway.run('sessions.kill-user', { name: 'nobody.at.all' })).envelope.summary).toBe('nobody.at.all has no session.');
  });

  it('A run summary names a single item without a count', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 1 });
    expect((await gateway.run('sessions.list')).envelope.summary).toMatch(/^1 session on 127\.0\.0\.1:\d+\.$/);
    expect((await gateway.run('request.get', { path: 'system/active-users' })).envelope.summary).toBe('Read system/active-users.');
    for (const [name, { summary }] of operations) {
      const { found, 'found-one': one } = summary ?? {};
      expect(one, name).toBe(
        found
          ?.replace('__n__', '1')
          .replace(
            /ies\b|(?<=user|session|backup|group|server)s\b|are(?= contained)/,
            (many) => ({ ies: 'y', s: '', are: 'is' })[many] ?? many,
          ),
      );
    }
  });

  it('A run summary does not claim that a user did not exist if the user could not be disabled', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const { envelope } = await gateway.run('users.disable', { server: USERS.server, username: ['contractor1', 'nobody.here'] });
    expect(envelope.summary).toBe('Disabled 1 of 2 users: contractor1; 1 failed (nobody.here).');
  });

  it.each<[string, Record<string, unknown>, boolean, string]>([
    [
      'config.update',
      { path: ['users', 'user-roles', 'user-role', 'Users'], body: { description: 'x' } },
      false,
      'Updated users/user-roles/user-role/Users.',
    ],
    [
      'config.delete',
      { path: 'users/user-roles/user-role/Users' },
      true,
      'Would delete users/user-roles/user-role/Users; resources in total: 4.',
    ],
    ['system.info', {}, false, 'Read the system information of HOST.'],
    ['config.ensure', { path: ROLE, body: { description: 'x' } }, false, `Gave ${ROLE} the given fields.`],
    ['config.ensure', { path: ROLE, body: { name: 'Users' } }, false, `${ROLE} already had the given fields.`],
    ['config.ensure', { path: ROLE, body: { description: 'x' } }, true, `Would give ${ROLE} the given fields.`],
    ['config.ensure', { path: ROLE, body: { name: 'Users' } }, true, `${ROLE} already has the given fields.`],
    [
      'config.ensure-all',
      { resources: [{ path: ROLE, body: { description: 'x' } }] },
      false,
      `1 of 1 resources match the desired state: ${ROLE}.`,
    ],
    ['config.ensure-all', { resources: [{ path: ROLE, body: { name: 'Users' } }] }, true, 'All resources already match the desired state.'],
    [
      'users.ensure',
      { server: 'System Local', username: 'contractor1', fullname: 'X' },
      false,
      'Gave contractor1 on System Local the given fields.',
    ],
    [
      'groups.ensure',
      { server: 'Corp AD', directory: 'ad', groups: [{ name: 'A', group: 'CORP/A' }] },
      false,
      'Set the groups of Corp AD to exactly the given ones.',
    ],
    [
      'policy.ensure-radius-client',
      { name: 'Switch Hall 1', client: { 'location-group': 'X' } },
      false,
      'Gave the RADIUS client Switch Hall 1 the given settings.',
    ],
    ['config.delete', { path: `${ROLE}-gone`, 'missing-ok': true }, false, `${ROLE}-gone did not exist.`],
    ['request.delete', { path: `configuration/${ROLE}-gone`, 'missing-ok': true }, false, `configuration/${ROLE}-gone did not exist.`],
    ['sessions.list', {}, false, '2 sessions on HOST.'],
    ['login.forget', {}, false, 'There was no key of HOST to forget.'],
  ])('The summary of a run describes %s with this input', async (name, input, dryRun, summary) => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 2 });
    const { envelope } = await gateway.run(name, input, { dryRun });
    expect(envelope.summary).toBe(summary.replace('HOST', envelope.appliance));
  });

  it('the run summary of a journal operation says whether the journal is complete, or what was undone', async () => {
    const { gateway, journal } = await startWithJournal();
    const { envelope } = await gateway.run('config.update', { path: ROLE, body: { description: 'x' } });
    expect((await gateway.run('journal.verify')).envelope.summary).toBe('The journal is intact. Entries: 1, files: 1.');
    const planned = await gateway.run('journal.undo', { id: envelope.journal }, { dryRun: true });
    expect(planned.envelope.summary).toBe('Would undo writes with one request. For: users/user-roles/user-role/Users.');
    expect((await gateway.run('journal.undo', { id: envelope.journal })).envelope.summary).toMatch(/^Undid 1 of 1 writes: \S+\.$/);
    const [name = ''] = listJournalFiles(journal);
    writeFileSync(join(journal, name), readFileSync(join(journal, name), 'utf8').replace('"ok":true', '"ok":null'));
    expect((await gateway.run('journal.verify')).envelope.summary).toBe('The journal is NOT intact. Damaged places: 1.');
  });

  it('A run summary names the operation and the error code after a failure, even if the details cannot be read', async () => {
    const gateway = gatewayFor(await startRawServer(() => httpResponse(404)));
    expect((await expectFailure(gateway.run('users.get', USERS))).cause?.summary).toBe('Get a user (j.doe): failed (NOT_FOUND).');
    expect((await expectFailure(gateway.run('users.get', null as never))).cause?.summary).toContain('BAD_INPUT');
    expect((await expectFailure(gateway.run('no.such'))).cause?.summary).toBe('no.such: failed (BAD_INPUT).');
  });

  it('A run summary contains no secret, and an error in it never fails the run', async () => {
    const gateway = gatewayFor(await startRawServer(() => httpResponse(200, '{}')), { password: 'simulator' });
    const { envelope } = await gateway.run('config.get', { path: 'users/simulator' });
    expect(envelope.summary).toBe('Read users/••••.');
    const translate = (): never => {
      throw new Error('no words');
    };
    expect((await gateway.run('system.info', {}, { translate })).envelope).toMatchObject({ ok: true, summary: 'system.info.' });
  });

  it('A run summary is in the language of the caller', async () => {
    const gateway = gatewayFor(await startRawServer(() => httpResponse(200, '{}')));
    const said: string[] = [];
    const translate = (key: string, english: string): string => {
      said.push(key);
      return `<${english}>`;
    };
    expect((await gateway.run('system.info', {}, { translate })).envelope.summary).toBe('<Read the system information of __appliance__.>');
    // This text has no placeholder, so no label is translated for it.
    expect(said).toEqual(['system.operation.info.summary.done']);
  });

  it('the summary of many items ends with the punctuation mark of its language', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 5 });
    const [id = ''] = readSessionIds((await gateway.run('sessions.list')).data);
    const dictionary = JSON.parse(readFileSync(join(root, 'nodes', 'locales', 'zh-CN.json'), 'utf8')) as Record<string, string>;
    const translate: Translate = (key, text, values) => defaultTranslate(key, dictionary[text] ?? text, values);
    const { envelope } = await gateway.run('sessions.kill', { 'session-id': [id, 'sidgone', 'sidgone2'] }, { translate });
    expect(envelope.summary).toBe('已结束 1/3 个会话；2 项已不存在。');
  });

  it.each([...operations])('The run summary of %s names only fields that exist and are not secret', (_name, operation) => {
    const { summary = {}, fields, data, example } = operation;
    for (const [key, words] of Object.entries(summary)) {
      expect(Object.keys(SUMMARY_TEXTS)).toContain(key);
      for (const [, value = ''] of words.matchAll(/__([\w-]+?)__/g)) {
        if (['n', 'ok', 'total', 'failed', 'title', 'code', 'appliance'].includes(value)) continue;
        if (key === 'served' || value in (operation.summaryValues?.(example.input) ?? {})) continue;
        // A count in the data or the envelope.
        if (!fields[value] && operation.help.includes(`msg.envelope.${value}`)) continue;
        if (!fields[value] && data.includes(value)) continue;
        expect(fields[value], value).toMatchObject({ required: true, secret: false });
      }
    }
  });
});

it.each([...operations])('the operation %s has a summary text for every possible result', (name, { summary = {}, effect, fields }) => {
  const keys = Object.keys(summary);
  expect(keys).toEqual(expect.arrayContaining([keys.find((key) => ['done', 'found', 'many', 'unchanged'].includes(key)) ?? 'done']));
  for (const [key, words] of Object.entries(summary)) {
    const isPart = ['many', 'gone', 'gone-one', 'failed-items'].includes(key);
    expect(words, key).toMatch(isPart ? /\w/ : /^[A-Z\d_].*\w.*\.$/s);
  }
  expect(keys.includes('found')).toBe(keys.includes('found-one'));
  if (keys.includes('planned')) expect(keys).toContain('planned-one');
  if (effect !== 'read' && keys.includes('done') && !name.startsWith('login.')) expect(keys).toContain('planned-one');
  if (fields['missing-ok'] || (name.includes('.ensure') && keys.includes('done'))) expect(keys).toContain('unchanged');
});

describe('A summary sentence', () => {
  const operation = (more: Partial<Operation> = {}): Operation => ({
    ...defineOperation({ effect: 'write', label: 'Do it', help: '', data: '', fields: {}, example: { input: {}, request: '' } }),
    ...more,
  });
  const told = (more: Partial<SummaryInput>): SummaryInput => ({
    name: 'area.do',
    appliance: 'vpn-1',
    operation: operation(),
    input: {},
    mask: (words) => words,
    many: undefined,
    plannedCount: undefined,
    changed: true,
    foundCount: undefined,
    ...more,
  });
  const failed = (code: ErrorCode): BulkItemResult => ({ item: 'it', ok: false, error: { code, message: 'It failed.' } });
  const gone = failed('NOT_FOUND');
  const many = (ok: number, ...others: BulkItemResult[]): BulkResult => ({
    total: ok + others.length,
    ok,
    failed: others.length,
    results: [...Array.from({ length: ok }, (): BulkItemResult => ({ item: 'it', ok: true, status: 204 })), ...others],
  });

  it.each<[Partial<SummaryInput>, string]>([
    [{}, 'Do it: done.'],
    [{ changed: null }, 'Do it: done.'],
    [{ changed: false }, 'Do it: nothing had to be changed.'],
    [{ code: 'OUTCOME_UNKNOWN' }, 'Do it: it may or may not have happened.'],
    [{ code: 'TIMEOUT', plannedCount: 1 }, 'Do it: failed (TIMEOUT).'],
    [{ plannedCount: 0 }, 'Do it: nothing to do.'],
    [{ plannedCount: 1 }, 'Do it: would send one request.'],
    [{ plannedCount: 2 }, 'Do it: would send 2 requests.'],
    [{ many: many(0) }, 'Do it: nothing to do.'],
    [{ many: many(2) }, 'Do it: 2 of 2 done: it.'],
    [{ many: many(2, gone, failed('TIMEOUT')) }, 'Do it: 2 of 4 done: it; 2 failed (it).'],
    [
      { many: many(2, gone, failed('TIMEOUT')), operation: operation({ effect: 'destroy' }) },
      'Do it: 2 of 4 done: it; 1 was gone already (it); 1 failed (it).',
    ],
    [{ many: many(0, gone, gone), operation: operation({ effect: 'destroy' }) }, 'Do it: 0 of 2 done; 2 were gone already (it).'],
    [{ foundCount: 1, changed: null, operation: operation({ effect: 'read' }) }, 'Do it: 1 found.'],
    [{ foundCount: 0, changed: null, operation: operation({ effect: 'read' }) }, 'Do it: 0 found.'],
    [{ foundCount: 7, changed: null }, 'Do it: done.'],
    [{ foundCount: 7, changed: true }, 'Do it: done.'],
    [{ data: { ok: false }, changed: null }, 'Do it: finished with problems.'],
    [{ data: { ok: true }, changed: null }, 'Do it: done.'],
    [{ data: 'ok', changed: null }, 'Do it: done.'],
    [{ operation: undefined }, 'area.do: done.'],
    [
      { data: { n: 3, list: ['a', 'b'], word: 'x' }, operation: operation({ summary: { done: '__n__ and __list__, __word__.' } }) },
      '3 and 2, x.',
    ],
  ])('A summary sentence describes %j', (what, words) => {
    expect(createSummary(told(what), defaultTranslate)).toBe(words);
  });

  it('a summary sentence names the first three items once each and the number of the others', () => {
    const item = (name: string): BulkItemResult => ({ item: { 'session-id': 's1', 'active-user-name': name }, ok: true, status: 204 });
    const summaryOf = (names: string[], input: Record<string, unknown> = {}): string =>
      createSummary(
        told({
          input,
          many: { total: names.length, ok: names.length, failed: 0, results: names.map(item) },
          operation: operation({ fields: { who: payloadField(textField('Who', '')) } }),
          mask: (words) => words.replace('hidden', '••••'),
        }),
        defaultTranslate,
      );
    expect(summaryOf(['a', 'a', 'hidden'])).toBe('Do it: 3 of 3 done: a, ••••.');
    expect(summaryOf(['a', 'b', 'c', 'd', 'e'])).toBe('Do it: 5 of 5 done: a, b, c (+2).');
    expect(summaryOf(['a', 'a'], { who: 'a' })).toBe('Do it (a): 2 of 2 done.');
    expect(
      createSummary(
        told({ many: { total: 1, ok: 1, failed: 0, results: [{ item: { 'session-id': 's' }, ok: true, status: 204 }] } }),
        defaultTranslate,
      ),
    ).toBe('Do it: 1 of 1 done.');
  });

  it('a summary sentence can name the reference of a comparison, an end time, and a served certificate', () => {
    const own = (more: Partial<Operation>, rest: Partial<SummaryInput>): string =>
      createSummary(told({ changed: null, operation: operation(more), ...rest }), defaultTranslate);
    const compare = { ...operations.get('snapshot.compare') } as Operation;
    const differences = { equal: false, added: ['a'], removed: [], changed: ['b', 'c'] };
    expect(own(compare, { input: { other: 'vpn-2' }, data: differences })).toBe('vpn-1 differs from vpn-2: 1 added, 0 removed, 2 changed.');
    expect(own(compare, { input: { with: { appliance: 'vpn-3', time: '2026-11-19' } }, data: { ...differences, equal: true } })).toBe(
      'No difference between vpn-1 and vpn-3 2026-11-19.',
    );
    expect(own({ summary: { done: 'Until __until__.' } }, { data: { until: '2026-11-19T14:02:11.123Z' } })).toBe(
      'Until 2026-11-19 14:02 UTC.',
    );
    expect(own({ ...operations.get('certificates.upload') }, { changed: true, envelopeFields: { served: { subject: 'CN=vpn' } } })).toBe(
      'Uploaded the certificate CN=vpn to vpn-1, which serves it now.',
    );
  });

  it('A summary sentence uses the text of the operation, or the common text if there is none', () => {
    const said: [string, unknown][] = [];
    const say: Translate = (key, words, values) => {
      said.push([key, values['title']]);
      return defaultTranslate(key, words, values);
    };
    expect(createSummary(told({ operation: operation({ summary: { done: 'Did __title__.' } }) }), say)).toBe('Did Do it.');
    expect(createSummary(told({}), say)).toBe('Do it: done.');
    expect(said).toEqual([
      ['area.operation.do.label', undefined],
      ['area.operation.do.summary.done', 'Do it'],
      ['area.operation.do.label', undefined],
      ['summary.done', 'Do it'],
    ]);
  });

  const fields = {
    guard: requiredField(textField('Guard', '', { guard: true })),
    flag: requiredField(booleanField('Flag', '')),
    secret: requiredField(textField('Secret', '', { secret: true })),
    first: requiredField(textField('First', '')),
    second: requiredField(choiceField('Second', '', ['one', 'two'])),
    place: pathField('Place', ''),
    who: nameListField('Who', ''),
  };
  const titleWith = (input: Record<string, unknown>, more: typeof fields | Record<string, unknown> = fields): string =>
    createOperationTitle(
      { name: 'area.do', operation: operation({ fields: more as typeof fields }), input, mask: (words) => words.replace('hidden', '••••') },
      defaultTranslate,
    );

  it('A summary sentence names the first required field or the subject, but no guard, secret or value that is not text', () => {
    const input = { guard: 'g', flag: true, secret: 's', first: 'f', second: 'one', place: ['a', 'b'], who: 'w' };
    expect(titleWith(input)).toBe('Do it (f)');
    expect(titleWith({ ...input, first: '' })).toBe('Do it (one)');
    expect(titleWith(input, { ...fields, place: payloadField(fields.place) })).toBe('Do it (a/b)');
    expect(titleWith(input, { ...fields, who: payloadField(fields.who) })).toBe('Do it (w)');
    expect(titleWith({ ...input, who: ['x', { username: 'y' }] }, { ...fields, who: payloadField(fields.who) })).toBe('Do it (x, y)');
    expect(titleWith({})).toBe('Do it');
  });

  it('A summary sentence names the subject on one line, shortened and masked', () => {
    expect(titleWith({ first: 'a\n\t b hidden' })).toBe('Do it (a b ••••)');
    expect(titleWith({ first: 'x'.repeat(80) })).toBe(`Do it (${'x'.repeat(80)})`);
    expect(titleWith({ first: 'x'.repeat(81) })).toBe(`Do it (${'x'.repeat(79)}…)`);
  });

  it('A summary sentence leaves out a value that is missing', () => {
    expect(defaultTranslate('', '__a__ and __b-c__, __d', { a: 0 })).toBe('0 and , __d');
  });
});
