import { describe, expect, it } from 'vitest';
import { toApiPath, encodedPath, toConfigurationPath, encodeQuery, encodePathSegment, toReadablePath } from '../../../src/model/path';
import { expandPathTags } from '../../../src/model/path-tags';
import {
  startTestSimulator,
  getThrownCode,
  gatewayFor,
  listRequestLines,
  startSimulatorWithGateway,
  getThrownError,
  USER_ROLES_PATH,
  expectFailure,
} from '../../helpers/simulated-appliance';

const ROOT = '/api/v1/configuration';
const tree = (path: string): string => toConfigurationPath(path).slice(ROOT.length);

describe('encodedPath', () => {
  it.each([
    ['plain', 'plain'],
    ['Büro #1/EU & 50%', 'B%C3%BCro%20%231%2FEU%20%26%2050%25'],
    ['.Administrators', '%2EAdministrators'],
    ['a.b', 'a.b'],
    ['a$b%c*d@e\\f', 'a%24b%25c%2Ad%40e%5Cf'],
    ["O'Neil (x)!", 'O%27Neil%20%28x%29%21'],
    ['%41', '%2541'],
    ['山田', '%E5%B1%B1%E7%94%B0'],
    ['🙂', '%F0%9F%99%82'],
    ['a"b?c', 'a%22b%3Fc'],
    ['-_.~', '-_.~'],
    ['...', '%2E..'],
  ])('encodedPath encodes %s once', (name, encoded) => {
    expect(encodePathSegment(name)).toBe(encoded);
    expect(decodeURIComponent(encoded)).toBe(name);
  });

  it('encodedPath rejects half of a surrogate pair', () => expect(getThrownCode(() => encodePathSegment('\ud83d'))).toBe('BAD_INPUT'));
});

describe('A configuration path as text', () => {
  it.each([
    ['/', ''],
    ['users', '/users'],
    ['/users/user-roles', '/users/user-roles'],
    ['users/user-roles/user-role/', '/users/user-roles/user-role/'],
    ['roles/Büro %231%2FEU & 50%25', '/roles/B%C3%BCro%20%231%2FEU%20%26%2050%25'],
    ['roles/100%', '/roles/100%25'],
    ['roles/50%zz', '/roles/50%25zz'],
    ['roles/.Administrators', '/roles/%2EAdministrators'],
    ['roles/%2EAdministrators', '/roles/%2EAdministrators'],
    ['roles/%2eadmin%c3%bc', '/roles/%2eadmin%c3%bc'],
    ['roles/...', '/roles/%2E..'],
    ['roles/a..b', '/roles/a..b'],
  ])('a configuration path given as text is parsed and encoded: %s', (text, path) => expect(tree(text)).toBe(path));

  it.each([
    ['', 'empty'],
    ['users?expand', 'query'],
    ['users#top', '%23'],
    ['https://other.example/api/v1/configuration/users', 'full URL'],
    ['HTTPS://other.example/', 'full URL'],
    ['//other.example/users', 'full URL'],
    ['users/../system', '".."'],
    ['users/..', '".."'],
    ['..', '".."'],
    ['users/./roles', '"."'],
    ['users/%2e%2e/system', '%2e%2e'],
    ['users/.%2E/system', '.%2E'],
    ['users/%2E', '%2E'],
    ['users//roles', 'empty segment'],
    ['users//', 'empty segment'],
    ['users/%ff', 'UTF-8'],
    ['/api/v1/system/active-users', 'outside of'],
    ['/api/v1', 'outside of'],
    ['/api/v1/configurations/users', 'outside of'],
    ['/api/v1/configuration/../system', '".."'],
    ['/api/v1/configuration/%2e%2e/system', '%2e%2e'],
    ['/elsewhere/api/v1/configuration/users', 'outside of'],
  ])('an invalid configuration path given as text is rejected: %s', (text, word) => {
    const error = getThrownError(() => toConfigurationPath(text));
    expect(error?.code).toBe('BAD_INPUT');
    expect(error?.message).toContain(word);
  });
});

describe('A configuration path as an array', () => {
  it('A configuration path given as an array uses each item as one unencoded segment', () => {
    expect(toConfigurationPath(['roles', 'Büro #1/EU & 50%', '.x', '%2e%2e', '7'])).toBe(
      `${ROOT}/roles/B%C3%BCro%20%231%2FEU%20%26%2050%25/%2Ex/%252e%252e/7`,
    );
  });

  it.each([[[]], [['']], [['.']], [['users', '..']], [['users', null]], [[{}]], [['a\udc00']]])(
    'an invalid configuration path given as an array is rejected: %j',
    (path) => expect(getThrownCode(() => toConfigurationPath(path as string[]))).toBe('BAD_INPUT'),
  );
});

describe('A configuration path as an href', () => {
  it('A configuration path given as an href is not encoded a second time', () => {
    const href = `${ROOT}/users/user-roles/user-role/B%C3%BCro%20%231%2FEU%20%26%2050%25`;
    expect(toConfigurationPath(href)).toBe(href);
  });

  it('A configuration path given as an href may start with the path of the base URL, but with no other path', () => {
    expect(toConfigurationPath(`/vpn1${ROOT}/users`, '/vpn1')).toBe(`${ROOT}/users`);
    expect(toConfigurationPath(`${ROOT}/users`, '/vpn1')).toBe(`${ROOT}/users`);
    expect(getThrownCode(() => toConfigurationPath('/vpn1/api/v1/system/x', '/vpn1'))).toBe('BAD_INPUT');
    expect(getThrownCode(() => toConfigurationPath(`/vpn2${ROOT}/users`, '/vpn1'))).toBe('BAD_INPUT');
  });
});

describe('encodedPath with special values', () => {
  const view = { payload: { name: 'Büro #1/EU & 50%', dot: '.Administrators', up: '..', id: 7, none: '', list: ['a'], no: null } };
  const expand = (template: string): string => tree(expandPathTags(template, view));

  it.each([
    ['roles/{{payload.name}}', '/roles/B%C3%BCro%20%231%2FEU%20%26%2050%25'],
    ['roles/{{payload.dot}}/x', '/roles/%2EAdministrators/x'],
    ['roles/{{ payload.id }}', '/roles/7'],
    ['roles/a {{payload.id}}/', '/roles/a%207/'],
    ['no tag', '/no%20tag'],
  ])('encodedPath encodes a value as one path segment: %s', (template, path) => expect(expand(template)).toBe(path));

  it.each([
    'roles/{{payload.none}}',
    'roles/{{payload.no}}',
    'roles/{{payload.missing}}',
    'roles/{{nothing.at.all}}',
    'roles/{{payload.list}}',
    'roles/{{payload}}',
    'roles/{{payload.up}}',
    'roles/{{{payload.name}}}',
    'roles/{{&payload.name}}',
    'roles/{{#payload}}x{{/payload}}',
    'roles/{{^payload}}x{{/payload}}',
    'roles/{{>payload}}',
    'roles/{{!payload}}',
    'roles/{{=<% %>=}}',
    'roles/{{payload.name',
  ])('encodedPath rejects %s', (template) => expect(getThrownCode(() => expand(template))).toBe('BAD_INPUT'));
});

describe('A blank name', () => {
  it.each([' ', '\t', '\u00a0\u3000'])('A blank name such as %j is rejected in every form of a path', (blank) => {
    for (const attempt of [
      () => encodedPath`/a/${blank}`,
      () => toConfigurationPath(['users', blank]),
      () => toConfigurationPath(`users/${blank}`),
      () => toConfigurationPath(`users/${encodeURIComponent(blank)}`),
    ])
      expect(getThrownCode(attempt)).toBe('BAD_INPUT');
  });
});

describe('A path segment that is not allowed', () => {
  const say = (template: string, view: object = {}): string | undefined => getThrownError(() => expandPathTags(template, view))?.message;

  it.each<[string, string]>([
    ['{{{a}}}', 'path has the tag {{&a}}: only plain tags like {{payload.name}} are possible.'],
    ['{{&a}}', 'path has the tag {{&a}}'],
    ['{{#a}}x{{/a}}', 'path has the tag {{#a}}'],
    ['{{>a}}', 'path has the tag {{>a}}'],
    ['{{!a}}', 'path has the tag {{a}}'],
    ['{{=<% %>=}}', 'path has the tag {{<% %>}}'],
    ['{{a', 'path has a tag that cannot be read: Unclosed tag'],
    ['{{a}}', 'path needs {{a}}, but the message has nothing there.'],
  ])('A path segment that is not allowed is rejected with a message that names the problem: %s', (template, words) =>
    expect(say(template)).toContain(words),
  );

  it('The error for a path quotes the segment that is not allowed', () => {
    for (const a of [null, '', undefined]) expect(say('{{a}}', { a })).toBe('path needs {{a}}, but the message has nothing there.');
    expect(say('{{a}}', { a: ['x'] })).toMatch(/^path needs text in \{\{a\}\}, not an array/);
    expect(expandPathTags('x/{{a}}', { a: 0 })).toBe('x/0');
  });
});

describe('encodedPath with several names', () => {
  it('encodedPath encodes each name as one segment', () => {
    expect(encodedPath`/a/${'b/c'}/d/${'.e'}`).toBe('/a/b%2Fc/d/%2Ee');
    expect(encodedPath`/a`).toBe('/a');
    for (const name of ['a..b', '...', '..up/x', 'CORP\\.doe', '%2e%2e'])
      expect(encodedPath`/a/${name}`).toBe(`/a/${encodePathSegment(name)}`);
  });

  it.each<[string, string]>([
    ['', 'A name is empty: the request would go to all of them.'],
    ['.', 'The name "." cannot be sent: in a URL it means another path.'],
    ['..', 'The name ".." cannot be sent'],
    ['../active-users?all', 'The name "../active-users?all" cannot be sent'],
    ['a/../../b', 'The name "a/../../b" cannot be sent'],
    ['a\\..\\b', 'cannot be sent'],
    ['a/.', 'cannot be sent'],
    ['..;x/y', 'cannot be sent'],
  ])('encodedPath rejects the name "%s"', (name, words) => expect(getThrownError(() => encodedPath`/a/${name}`)?.message).toContain(words));
});

describe('The path of gateway-request', () => {
  it.each([
    ['system/status', '/api/v1/system/status'],
    ['/api/v1/system/status', '/api/v1/system/status'],
    ['/vpn1/api/v1/system/status', '/api/v1/system/status'],
    ['realm', '/api/v1/realm'],
    ['system/auth', '/api/v1/system/auth'],
    ['a;b/auth', '/api/v1/a;b/auth'],
    ['network/00:00:5e:00:53:01', '/api/v1/network/00:00:5e:00:53:01'],
    ["a:@!$&'()*+,;=b/c d", "/api/v1/a:@!$&'()*+,;=b/c%20d"],
    ['a%3Ab', '/api/v1/a%3Ab'],
    ['authentication/auth', '/api/v1/authentication/auth'],
    ['%25', '/api/v1/%25'],
  ])('The path of gateway-request is accepted: %s', (path, whole) => expect(toApiPath(path, '/vpn1')).toBe(whole));

  it.each([
    'auth',
    '/auth/',
    'AUTH',
    'Realm_Auth',
    'realm_auth/x',
    'auth;jsessionid=1',
    'a/..;/auth',
    'a/..;x=1/b',
    'a/%2e%2e;x/b',
    'a/b%2F..;x/c',
    'auth%3Bx',
    'auth%00.html',
    'auth%0b',
    '%61uth',
    '%2561uth',
    '%25252561uth',
    'a%75th',
    'auth%20',
    'auth%09',
    '%2Fauth',
    '%5Cauth',
    ' auth',
    'a%C2%AD%2Fx%2F%2E%2E%2F%2E%2E%2F%2E%2E%2Fv1%2Fauth',
    '%2E%2Fauth'.replace('%2E%2F', '%252E%2F'),
    'x%252F%252E%252E%252Fauth',
  ])('The path of gateway-request is rejected because it could be a login: %s', (path) => {
    expect(getThrownError(() => toApiPath(path))?.code, path).toBe('BAD_INPUT');
    expect(getThrownError(() => toApiPath(path))?.message).toMatch(/login|leave the path/);
  });

  it('gateway-request rejects the root of the interface as a path', () => {
    for (const path of ['/', '/api/v1', '/api/v1/'])
      expect(getThrownError(() => toApiPath(path))?.message).toBe('path is the root of the interface. Give a path below /api/v1/.');
    expect(getThrownError(() => toApiPath('auth'))?.message).toBe(
      'path leads to a login. The library logs in by itself, and the response would expose an API key. Give another path.',
    );
  });
});

describe('The error for a rejected path', () => {
  it.each<[unknown, string]>([
    [[], 'path is an empty array: give at least one segment.'],
    [[null], 'path is an array with an item that is not text.'],
    [['a', '\ud83d'], 'A name contains half of a Unicode character. Check where it was cut.'],
    ['a/%2e%2e%2Fb', 'path has the segment'],
    ['a/x%5C..', 'path has the segment'],
    ['mailto://x', 'path is a full URL.'],
  ])('The error for a rejected path names the reason for %j', (path, words) =>
    expect(getThrownError(() => toConfigurationPath(path as string[]))?.message).toContain(words),
  );

  it('The error for a path shows text that resembles an address or another appliance as a path', () => {
    expect(tree('a/http://b'.replace('//', '/'))).toBe('/a/http%3A/b');
    expect(tree('my-api/v1x')).toBe('/my-api/v1x');
    expect(tree('myapi/v1')).toBe('/myapi/v1');
    expect(tree(`${ROOT}/`)).toBe('');
    expect(tree(ROOT)).toBe('');
    expect(toConfigurationPath([7, 'a'] as unknown as string[])).toBe(`${ROOT}/7/a`);
  });
});

describe('The query of a request', () => {
  it('The query of a request contains flags and values, each encoded once', () => {
    expect(encodeQuery(undefined)).toBe('');
    expect(encodeQuery({})).toBe('');
    expect(encodeQuery({ expand: true, 'a b': 'ü&=%', empty: '' })).toBe('?expand&a%20b=%C3%BC%26%3D%25&empty=');
  });
});

describe('A request path as sent', () => {
  const names = ['Büro #1/EU & 50%', '.Administrators'] as const;

  it.each(names)('the request path that is sent contains %s as one segment, however the path was given', async (name) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { data } = await gateway.run('config.list', { path: 'users/user-roles/user-role' });
    const link = (data as { name: string; href: string }[]).find((entry) => entry.name === name);
    const paths = [
      expandPathTags('users/user-roles/user-role/{{role}}', { role: name }),
      ['users', 'user-roles', 'user-role', name],
      `users/user-roles/user-role/${name.replace('%', '%25').replace('#', '%23').replace('/', '%2F')}`,
      link?.href,
    ];
    simulator.requests.length = 0;
    for (const path of paths) expect((await gateway.run('config.get', { path })).data).toMatchObject({ name });
    expect(new Set(listRequestLines(simulator))).toEqual(new Set([`GET ${USER_ROLES_PATH}/${encodePathSegment(name)}`]));
    expect(listRequestLines(simulator)).toHaveLength(4);
  });

  it('the request path that is sent contains the path of the base URL once, also for an href that starts with it', async () => {
    const simulator = await startTestSimulator({ pathPrefix: '/vpn1' });
    const gateway = gatewayFor({ url: `${simulator.url}/` });
    const { envelope } = await gateway.run('config.get', { path: 'users' });
    expect(envelope.request?.path).toBe(`${ROOT}/users`);
    await gateway.run('config.get', { path: `/vpn1${ROOT}/users` });
    await gateway.run('config.get', { path: `${ROOT}/users` });
    expect(listRequestLines(simulator)).toEqual(Array(3).fill(`GET /vpn1${ROOT}/users`));
    expect((await expectFailure(gateway.run('config.get', { path: `/vpn2${ROOT}/users` }))).code).toBe('BAD_INPUT');
  });

  it('An operation with an invalid path sends nothing', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    for (const path of ['../system', 'users/%2e%2e', 'https://other.example/', '']) {
      const error = await expectFailure(gateway.run('config.get', { path }));
      expect(error.code).toBe('BAD_INPUT');
      expect(error.cause).toMatchObject({ ok: false, requests: 0, logins: 0, status: null });
    }
    expect(simulator.requests).toEqual([]);
  });
});

describe('a path in a sentence', () => {
  it.each([
    ['/api/v1/configuration/users/user-roles/user-role/Night%20shift', 'users/user-roles/user-role/Night shift'],
    ['/api/v1/license/%E4', 'license/%E4'],
    ['users/user-roles/user-role/Night%20shift', 'users/user-roles/user-role/Night%20shift'],
    ['j.doe', 'j.doe'],
  ])('the path %s is shown as %s', (path, shown) => {
    expect(toReadablePath(path)).toBe(shown);
  });
});
