import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../scripts/tools.mjs';
import { operations } from '../src/areas';
import { english, type Say } from '../src/model/summary';
import { SUMMARIES } from '../src/model/summary-words';
import { failure, gatewayFor, idsOf, pair } from './library/appliance';
import { files, journalled } from './library/journal';
import { http, wire } from './library/wire';

const ROLE = 'users/user-roles/user-role/Users';
const USERS = { server: 'System Local', username: 'j.doe' };

describe('the summary of an outcome', () => {
  it('tells of many by count, and of those that were gone', async () => {
    const { gateway } = await pair({ sessions: 5 });
    const ids = idsOf((await gateway.run('sessions.list')).data).slice(0, 3);
    const planned = await gateway.run('sessions.kill', { 'session-id': ids }, { dryRun: true });
    expect(planned.envelope.summary).toBe('Would end 3 sessions.');
    const { envelope } = await gateway.run('sessions.kill', { 'session-id': [...ids, 'sidgone'] });
    expect(envelope.summary).toBe('Ended 3 of 4 sessions; 1 was gone already.');
    expect((await gateway.run('sessions.kill-user', { name: 'nobody.at.all' })).envelope.summary).toBe('nobody.at.all has no session.');
  });

  it('tells of one thing as of one', async () => {
    const { gateway } = await pair({ sessions: 1 });
    expect((await gateway.run('sessions.list')).envelope.summary).toBe('1 session.');
    expect((await gateway.run('request.get', { path: 'system/active-users' })).envelope.summary).toBe('Read system/active-users.');
    for (const [name, { summary }] of operations) {
      const { found, 'found-one': one } = summary ?? {};
      expect(one, name).toBe(
        found
          ?.replace('__n__', '1')
          .replace(/ies\b|(?<=user|session|backup|group)s\b|are(?= contained)/, (many) => ({ ies: 'y', s: '', are: 'is' })[many] ?? many),
      );
    }
  });

  it('does not say of somebody who cannot be disabled that he was gone', async () => {
    const { gateway } = await pair();
    const { envelope } = await gateway.run('users.disable', { server: USERS.server, username: ['contractor1', 'nobody.here'] });
    expect(envelope.summary).toBe('Disabled 1 of 2 users; 1 failed.');
  });

  it.each<[string, Record<string, unknown>, boolean, string]>([
    [
      'config.update',
      { path: ['users', 'user-roles', 'user-role', 'Users'], body: { description: 'x' } },
      false,
      'Updated users/user-roles/user-role/Users.',
    ],
    ['config.delete', { path: 'users/user-roles/user-role/Users' }, true, 'Would delete users/user-roles/user-role/Users.'],
    ['system.info', {}, false, 'Read the system information.'],
    ['config.ensure', { path: ROLE, body: { description: 'x' } }, false, `Made ${ROLE} as given.`],
    ['config.ensure', { path: ROLE, body: { name: 'Users' } }, false, `${ROLE} was as given already.`],
    ['config.ensure', { path: ROLE, body: { description: 'x' } }, true, `Would make ${ROLE} as given.`],
    ['config.ensure', { path: ROLE, body: { name: 'Users' } }, true, `${ROLE} is as given already.`],
    ['config.ensure-all', { resources: [{ path: ROLE, body: { description: 'x' } }] }, false, '1 of 1 resources are as given.'],
    ['config.ensure-all', { resources: [{ path: ROLE, body: { name: 'Users' } }] }, true, 'All resources are as given already.'],
    ['users.ensure', { server: 'System Local', username: 'contractor1', fullname: 'X' }, false, 'Made the user contractor1 as given.'],
    [
      'groups.ensure',
      { server: 'Corp AD', directory: 'ad', groups: [{ name: 'A', group: 'CORP/A' }] },
      false,
      'Made the groups of Corp AD exactly those given.',
    ],
    [
      'policy.ensure-radius-client',
      { name: 'Switch Hall 1', client: { 'location-group': 'X' } },
      false,
      'Made the RADIUS client Switch Hall 1 as given.',
    ],
    ['config.delete', { path: `${ROLE}-gone`, 'missing-ok': true }, false, `${ROLE}-gone was not there.`],
    ['request.delete', { path: `configuration/${ROLE}-gone`, 'missing-ok': true }, false, `configuration/${ROLE}-gone was not there.`],
    ['sessions.list', {}, false, '2 sessions.'],
    ['login.forget', {}, false, 'There was no key to forget.'],
  ])('of %s', async (name, input, dryRun, summary) => {
    const { gateway } = await pair({ sessions: 2 });
    expect((await gateway.run(name, input, { dryRun })).envelope.summary).toBe(summary);
  });

  it('tells whether a journal is whole, and what was undone', async () => {
    const { gateway, journal } = await journalled();
    const { envelope } = await gateway.run('config.update', { path: ROLE, body: { description: 'x' } });
    expect((await gateway.run('journal.verify')).envelope.summary).toBe('The journal is whole. Entries: 1, files: 1.');
    const planned = await gateway.run('journal.undo', { id: envelope.journal }, { dryRun: true });
    expect(planned.envelope.summary).toBe('Would undo what was written by one request.');
    expect((await gateway.run('journal.undo', { id: envelope.journal })).envelope.summary).toBe('Undid 1 of 1 writes.');
    const [name = ''] = files(journal);
    writeFileSync(join(journal, name), readFileSync(join(journal, name), 'utf8').replace('"ok":true', '"ok":null'));
    expect((await gateway.run('journal.verify')).envelope.summary).toBe(
      'The journal is NOT whole. Places that are not as they were written: 1.',
    );
  });

  it('tells of a failure by the name of the operation and its code, also where nothing can be looked at', async () => {
    const gateway = gatewayFor(await wire(() => http(404)));
    expect((await failure(gateway.run('users.get', USERS))).cause?.summary).toBe('Get a user (j.doe): failed (NOT_FOUND).');
    expect((await failure(gateway.run('users.get', null as never))).cause?.summary).toContain('BAD_INPUT');
    expect((await failure(gateway.run('no.such'))).cause?.summary).toBe('no.such: failed (BAD_INPUT).');
  });

  it('holds no secret, and is never the reason for a failure', async () => {
    const gateway = gatewayFor(await wire(() => http(200, '{}')), { password: 'simulator' });
    const { envelope } = await gateway.run('config.get', { path: 'users/simulator' });
    expect(envelope.summary).toBe('Read users/••••.');
    const say = (): never => {
      throw new Error('no words');
    };
    expect((await gateway.run('system.info', {}, { say })).envelope).toMatchObject({ ok: true, summary: 'system.info.' });
  });

  it('is said in the language of the reader', async () => {
    const gateway = gatewayFor(await wire(() => http(200, '{}')));
    const said: string[] = [];
    const say = (key: string, english: string): string => {
      said.push(key);
      return `<${english}>`;
    };
    expect((await gateway.run('system.info', {}, { say })).envelope.summary).toBe('<Read the system information.>');
    expect(said).toEqual(['system.operation.info.label', 'system.operation.info.summary.done']);
  });

  it('of many ends as a sentence of that language ends', async () => {
    const { gateway } = await pair({ sessions: 5 });
    const [id = ''] = idsOf((await gateway.run('sessions.list')).data);
    const dictionary = JSON.parse(readFileSync(join(root, 'nodes', 'locales', 'zh-CN.json'), 'utf8')) as Record<string, string>;
    const say: Say = (key, text, values) => english(key, dictionary[text] ?? text, values);
    const { envelope } = await gateway.run('sessions.kill', { 'session-id': [id, 'sidgone', 'sidgone2'] }, { say });
    expect(envelope.summary).toBe('已结束 1/3 个会话；2 项已不存在。');
  });

  it.each([...operations])('of %s names only fields that it has and that are no secret', (_name, { summary = {}, fields, data }) => {
    for (const [key, words] of Object.entries(summary)) {
      expect(Object.keys(SUMMARIES)).toContain(key);
      for (const [, value = ''] of words.matchAll(/__([\w-]+?)__/g)) {
        if (['n', 'ok', 'total', 'failed', 'title', 'code'].includes(value)) continue;
        // A count in what comes of it.
        if (!fields[value] && data.includes(value)) continue;
        expect(fields[value], value).toMatchObject({ required: true, secret: false });
      }
    }
  });
});
