import { describe, expect, it } from 'vitest';
import type { Settings } from '../../../src/model/settings';
import { GatewayError } from '../../../src/model/error';
import { Redactor } from '../../../src/model/redaction';
import { joinMessageParts, trusted, safeMessage } from '../../../src/model/safe-message';
import { gatewayFor } from '../../helpers/simulated-appliance';
import { httpResponse, startRawServer, type RawRequest } from '../../helpers/raw-server';

describe('safeMessage', () => {
  it('safeMessage leaves its own words unmasked and masks secrets in untrusted parts', () => {
    const redactor = new Redactor().add('no', 'the', 'secret words');
    const error = new GatewayError('BAD_INPUT', safeMessage`no, the ${'secret words'} are ${3} of ${trusted('the no')}, not ${'no the'}.`);
    expect(redactor.message(error)).toBe('no, the •••• are 3 of the no, not •••• ••••.');
    expect(error.message).toBe('no, the secret words are 3 of the no, not no the.');
    expect(redactor.message(new GatewayError('LIMIT', safeMessage`no: ${error} ${joinMessageParts(['no', trusted('no')], ' the ')}`))).toBe(
      `no: ${redactor.message(error)} •••• the no`,
    );
    expect(redactor.message(new GatewayError('LIMIT', 'no, the'))).toBe('no, the');
  });
});

/** Answers that lead to every kind of error, and what asks for it. */
const refused =
  (status: number, body: string) =>
  (asked: RawRequest): string =>
    asked.path.endsWith('realm_auth') ? httpResponse(200, '{"api_key":"0123456789"}') : httpResponse(status, body);
const SAYS = 'Z7: not here';
const said = (list: string): string => JSON.stringify({ result: { [list]: [{ message: SAYS }] } });
type Case = readonly [what: string, answer: (asked: RawRequest) => string, operation: string, input: Record<string, unknown>];

const CASES: Case[] = [
  ...[400, 401, 403, 404, 422, 429, 500, 502].map((status): Case => [
    `a login that is answered ${status}`,
    () => httpResponse(status, SAYS),
    'system.info',
    {},
  ]),
  ...[302, 400, 403, 404, 422, 500].map((status): Case => [
    `a read that is answered ${status}`,
    refused(status, said('errors')),
    'system.info',
    {},
  ]),
  ...[400, 403, 404, 422, 500].map((status): Case => [
    `a write that is answered ${status}`,
    refused(status, ''),
    'sessions.kill',
    { 'session-id': 'sid1' },
  ]),
  ['several writes that are refused', refused(422, said('warnings')), 'sessions.kill', { 'session-id': ['sid1', 'sid2'] }],
  ['a page', refused(200, '<html>Sorry</html>'), 'system.info', {}],
  ['no JSON', refused(200, '{'), 'sessions.list', {}],
  ['JSON of another shape', refused(200, '[]'), 'sessions.list', {}],
  ['errors in a success', refused(200, said('errors')), 'sessions.kill-all', {}],
  ['a key without a login', () => httpResponse(200, '{}'), 'system.info', {}],
  ['a second factor', () => httpResponse(200, '{"resume_id":"r1"}'), 'system.info', {}],
  ['an unknown operation', () => '', 'system.nothing', {}],
  ['an unknown field', () => '', 'system.info', { other: 1 }],
  ['a missing field', () => '', 'users.get', {}],
  ['an empty field', () => '', 'users.get', { server: '', username: 'a' }],
  ['a field of another kind', () => '', 'users.get', { server: new Map(), username: 'z' }],
  ['another choice', () => '', 'groups.list', { server: 's', directory: 'Z7' }],
  ['a path that leads elsewhere', () => '', 'config.get', { path: '../z' }],
  ['an unknown filter', () => '', 'sessions.kill-matching', { filter: { z7: 'z' } }],
  ['an empty filter', () => '', 'sessions.kill-matching', { filter: { 'active-user-name': '' } }],
  ['no file', () => '', 'transfer.import-xml', { file: '/nowhere/z7.xml' }],
  ['an odd body', () => '', 'config.create', { path: 'z7', body: { z: 1n } }],
];

let realms = 0;

async function messageOf([, answer, operation, input]: Case, password: string): Promise<string> {
  const server = await startRawServer(answer, { forwardsLogins: true });
  // Keys are shared by all of one account, and ports are used again.
  const settings: Partial<Settings> = { password, username: `api-${password}`, realm: `Realm ${++realms}` };
  const thrown: unknown = await gatewayFor(server, settings)
    .run(operation, input)
    .catch((error: unknown) => error);
  if (!(thrown instanceof GatewayError)) throw new Error(`no error: ${JSON.stringify(thrown)}`);
  const { message, cause } = thrown;
  const results = (cause?.['results'] ?? []) as { error?: unknown }[];
  const { operation: shown, code, reason } = cause ?? {};
  // Ports and times differ.
  return JSON.stringify([thrown.code, message, shown, code, reason, cause?.message, results.map(({ error }) => error)])
    .replaceAll(/127\.0\.0\.1:\d+/g, 'HOST')
    .replaceAll(/\d+ s \(until [^)]*\)/g, 'TIME');
}

describe('An error message does not reveal a password that is one of its words:', () => {
  it.each(CASES)('an error message does not reveal a password that is one of its words: %s', async (...row) => {
    const unrelated = await messageOf(row, 'Xq93-unrelated');
    const passwords = ['no', 'the', 'key', 'a', '403', 'this', 'appliance', 'sessions', 'NOT_FOUND', 'BAD_INPUT', 'field'];
    const messages = await Promise.all(passwords.map((password) => messageOf(row, password)));
    messages.forEach((message, index) => expect(message, passwords[index]).toBe(unrelated));
  });
});
