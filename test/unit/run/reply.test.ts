import { describe, expect, it } from 'vitest';
import { ResponseBody } from '../../../src/http/response-body';
import type { Reply } from '../../../src/http/exchange';
import type { ErrorCode } from '../../../src/model/error-codes';
import type { GatewayError } from '../../../src/model/error';
import { AnyResponseCollector } from '../../../src/run/any-response';
import {
  isForbiddenWithoutEnvelope,
  createUnexpectedContentError,
  readDocument,
  readWriteResult,
  assertSuccessStatus,
} from '../../../src/run/reply';
import { getThrownError } from '../../helpers/thrown-error';

// What an answer means, read by itself; that it comes over the wire so is a matter of test/unit/run/replies.test.ts and test/unit/areas/request.test.ts.

function reply(status: number, body: string | Buffer = '', contentType = 'application/json'): Reply {
  const whole = new ResponseBody();
  whole.add(Buffer.from(body));
  return { status, contentType, body: whole };
}

const none = { info: [], warnings: [], errors: [] };
const message = (...texts: string[]): { message: string }[] => texts.map((text) => ({ message: text }));
const lists = (result: Record<string, unknown>): string => JSON.stringify({ result });
const errors = lists({ errors: message('It is said.') });

describe('An error status', () => {
  it.each<[number, ErrorCode, string]>([
    [400, 'INVALID_REQUEST', 'The appliance calls the request invalid (400)'],
    [
      401,
      'UNAUTHORIZED',
      'The appliance refused a key that it had issued just now (401). Check that the account may use the REST interface',
    ],
    [
      403,
      'FORBIDDEN',
      'The appliance forbids this to the administrator account (403). Give its role the permission, or use another account',
    ],
    [404, 'NOT_FOUND', 'The appliance has nothing there (404). Check name and path'],
    [422, 'REJECTED', 'The appliance refused the change (422)'],
    [500, 'APPLIANCE_ERROR', 'The appliance’s REST server is not responding (500). It may be restarting; try again later'],
    [503, 'APPLIANCE_ERROR', 'The appliance answered with status 503'],
    [199, 'APPLIANCE_ERROR', 'The appliance answered with status 199'],
    ...[300, 302, 399].map((status): [number, ErrorCode, string] => [
      status,
      'APPLIANCE_ERROR',
      `The appliance redirects elsewhere (${status}), which is not followed because the key goes to its own address only. Check the URL`,
    ]),
  ])('status %i is %s, with a message that says what to do', (status, code, words) => {
    const bare = getThrownError(() => assertSuccessStatus(reply(status)));
    expect(bare).toMatchObject({ code, message: `${words}.`, details: { status, result: none, sent: true } });
    const said = getThrownError(() => assertSuccessStatus(reply(status, errors)));
    expect(said).toMatchObject({ code, message: `${words}: It is said.`, details: { result: { errors: message('It is said.') } } });
    for (const read of [readDocument, readWriteResult]) expect(getThrownError(() => read(reply(status)))?.code).toBe(code);
  });

  it('An error status is reported with the errors in the response, or with its warnings and other messages', () => {
    const said = (result: Record<string, unknown>): string | undefined =>
      getThrownError(() => assertSuccessStatus(reply(422, lists(result))))?.message.split(': ')[1];
    const rest = { warnings: message('Look out.'), info: message('By the way.') };
    expect(said({ ...rest, errors: message('One.', 'Two.') })).toBe('One. Two.');
    expect(said({ ...rest, errors: [] })).toBe('Look out. By the way.');
  });

  it.each([200, 201, 204, 299])('The status %i is not an error status', (status) => {
    expect(getThrownError(() => assertSuccessStatus(reply(status)))).toBeUndefined();
  });

  it.each<[string, number, string, boolean]>([
    ['403 with a result', 403, errors, false],
    ['403 with a result of nothing', 403, '{"result":{}}', false],
    ['403 with a result that is none', 403, '{"result":"no"}', true],
    ['403 with another document', 403, '{"message":"no"}', true],
    ['403 with a page', 403, '<html>', true],
    ['403 alone', 403, '', true],
    ['401', 401, '', false],
    ['404', 404, '<html>', false],
  ])('status %s can mean an expired key: %s', (_what, status, body, bare) => {
    expect(isForbiddenWithoutEnvelope(reply(status, body))).toBe(bare);
  });
});

describe('A success response', () => {
  it('A success response returns its document, or nothing if it is empty', () => {
    expect(readDocument(reply(200, '{"a":1}'))).toEqual({ a: 1 });
    expect(readDocument(reply(200, '{"result":"a field like any other"}'))).toEqual({ result: 'a field like any other' });
    expect(readDocument(reply(204, 'whatever comes with it'))).toEqual({});
  });

  it('A success response to a write returns its message lists', () => {
    expect(readWriteResult(reply(200, lists({ info: ['text', { message: 'entry', more: 1 }], warnings: null })))).toEqual({
      ...none,
      info: message('text', 'entry'),
    });
    for (const answer of [reply(204, 'whatever comes with it'), reply(201), reply(200, ' \r\n')])
      expect(readWriteResult(answer)).toEqual(none);
  });

  it.each<[string, string, RegExp]>([
    ['no result', '{}', /^The appliance answered 200 without a result\.$/],
    ['a result that is none', '{"result":[]}', /without a result/],
    ['lists that are none', lists({ info: {} }), /^The appliance answered a result whose lists are not lists\.$/],
    ['a message that is none', lists({ errors: [5] }), /^The appliance answered a result with a message that is not text\.$/],
    ['an entry without one', lists({ errors: [{ message: 5 }] }), /with a message that is not text/],
    ['a page', '<html>', /a page of HTML/],
  ])('A success response to a write is BAD_RESPONSE with %s', (_what, body, words) => {
    expect(getThrownError(() => readWriteResult(reply(200, body)))).toMatchObject({
      code: 'BAD_RESPONSE',
      message: expect.stringMatching(words) as string,
      details: { status: 200, sent: true },
    });
  });

  it('A success response with errors in it is an error with these messages, for reads and writes', () => {
    const body = lists({ info: message('Saved.'), errors: message('One.', 'Two.') });
    for (const read of [readDocument, readWriteResult])
      expect(getThrownError(() => read(reply(200, body)))).toMatchObject({
        code: 'APPLIANCE_ERROR',
        message: 'The appliance reported an error: One. Two.',
        details: { status: 200, sent: true, result: { ...none, info: message('Saved.'), errors: message('One.', 'Two.') } },
      });
  });

  it('A success response that is not a configuration is rejected with a description of its content', () => {
    expect(createUnexpectedContentError(reply(200, '{"a":1}'))).toMatchObject({
      code: 'BAD_RESPONSE',
      message: 'The appliance sent JSON in place of a configuration.',
      details: { status: 200, sent: true },
    });
    expect(getThrownError(() => createUnexpectedContentError(reply(200, errors)))?.code).toBe('APPLIANCE_ERROR');
  });
});

describe('A message named by the interface', () => {
  const refused = (attempt: () => unknown): GatewayError | undefined => getThrownError(attempt);

  it.each([
    'Invalid import mode',
    'failed to EXTRACT configuration files',
    'not part of an Active/Passive cluster',
    'not part of an active-passive cluster',
  ])('the known refusal message %s is found in any message list with any status', (text) => {
    for (const list of ['info', 'warnings', 'errors']) {
      const body = lists({ [list]: message('Something else.', `Error: ${text}!`) });
      expect(refused(() => readWriteResult(reply(200, body)))).toMatchObject({
        code: 'REJECTED',
        message: `The appliance refused: Error: ${text}!`,
        details: { status: 200, sent: true, result: { [list]: [{}, {}] } },
      });
      expect(refused(() => assertSuccessStatus(reply(500, body)))).toMatchObject({
        code: 'REJECTED',
        message: expect.stringContaining(text) as string,
      });
    }
  });

  it.each<[string, string, string]>([
    ['a page', '<p>Error - Invalid import mode of it </p>', 'Error - Invalid import mode of it'],
    ['one line of several', 'Sorry.\nInvalid import mode: x \nGood bye.', 'Invalid import mode: x'],
    ['other letters', '<p>INVALID import mode</p>', 'INVALID import mode'],
    ['a long line', `Invalid import mode${'x'.repeat(300)}`, `Invalid import mode${'x'.repeat(200)}`],
    ['the beginning of a long page', `${' '.repeat(65_516)}Invalid import mode, and more`, 'Invalid import mode,'],
  ])('A message named by the interface is found in %s', (_what, body, words) => {
    expect(refused(() => readWriteResult(reply(200, body)))).toMatchObject({
      code: 'REJECTED',
      message: `The appliance refused: ${words}`,
      details: { status: 200, sent: true, result: none },
    });
    expect(refused(() => assertSuccessStatus(reply(404, body)))).toMatchObject({
      code: 'REJECTED',
      message: `The appliance refused: ${words}`,
    });
  });

  it('A known message is not searched for in the values of a document or far inside a page', () => {
    const body = '\n {"name":"Invalid import mode"}';
    expect(readDocument(reply(200, body))).toEqual({ name: 'Invalid import mode' });
    expect(refused(() => assertSuccessStatus(reply(404, body)))?.code).toBe('NOT_FOUND');
    expect(refused(() => assertSuccessStatus(reply(404, `${' '.repeat(65_530)}Invalid import mode`)))?.code).toBe('NOT_FOUND');
  });
});

describe('readAny', () => {
  const streamed = (body: string | Buffer, contentType: string, answer = new AnyResponseCollector()): [AnyResponseCollector, Reply] => {
    answer.write(Buffer.from(body));
    return [answer, { ...reply(200, '', contentType), streamed: true }];
  };
  const read = (body: string | Buffer, contentType: string): unknown => {
    const [answer, whole] = streamed(body, contentType);
    const value = answer.readBody(whole);
    // The transport keeps JSON by itself.
    expect(new AnyResponseCollector().readBody(reply(200, body, contentType))).toEqual(value);
    return value;
  };

  it.each<[string, string, unknown]>([
    ['application/json', '{"a":1}', { a: 1 }],
    ['APPLICATION/JSON; charset=utf-8', '"text"', 'text'],
    ['application/vnd.acme-1+json', '5', 5],
    ['application/json', '\ufeff[1]', [1]],
    ['text/plain', ' \n[1]', [1]],
    ['text/plain', '5', '5'],
    ['text/plain', 'x{}', 'x{}'],
    ['text/plain', '{no JSON', '{no JSON'],
    ['text/plain', '\ufefftext', 'text'],
    ['application/jsonp', '"x"', '"x"'],
    ['x-application/json', '5', '5'],
    ['text/plain', '  ', '  '],
    ['application/json', '  ', {}],
    ['', '', {}],
    ['application/xml', '<a/>', '<a/>'],
    ['text/image/', 'x', 'x'],
  ])('readAny of %s, %j, returns text or JSON', (contentType, body, value) => {
    expect(read(body, contentType)).toEqual(value);
  });

  it.each(
    ['octet-stream', 'zip', 'gzip', 'x-tar', 'pdf', 'pkcs12']
      .map((type) => `application/${type}`)
      .concat('image/png', 'audio/a', 'Video/a'),
  )('of %s is bytes, whatever they look like', (contentType) => {
    expect(read('{"a":1}', contentType)).toEqual(Buffer.from('{"a":1}'));
    expect(read('', contentType)).toEqual(Buffer.alloc(0));
  });

  it('readAny returns bytes if the response is not text', () => {
    expect(read(Buffer.from([0xff, 0x7b]), 'text/plain')).toEqual(Buffer.from([0xff, 0x7b]));
  });

  it('readAny rejects truncated JSON with the content type JSON as BAD_RESPONSE', () => {
    expect(getThrownError(() => read('{"a":', 'application/json'))).toMatchObject({
      code: 'BAD_RESPONSE',
      message: 'The appliance sent JSON that is invalid or truncated (status 200).',
    });
  });

  it('readAny rejects a response by its status and by the result in its body', () => {
    const [answer, whole] = streamed(errors, 'application/json');
    expect(getThrownError(() => answer.readBody({ ...whole, status: 404 }))?.code).toBe('NOT_FOUND');
    expect(getThrownError(() => answer.readWriteResult({ ...whole, status: 404 }))?.code).toBe('NOT_FOUND');
    expect(getThrownError(() => answer.readBody(whole))?.code).toBe('APPLIANCE_ERROR');
    expect(getThrownError(() => answer.readWriteResult(whole))?.code).toBe('APPLIANCE_ERROR');
    expect(read('{"result":5}', 'application/json')).toEqual({ result: 5 });
  });

  it.each<[string, string, unknown, unknown]>([
    ['a result alone', lists({ info: ['made'] }), { ...none, info: message('made') }, undefined],
    ['nothing', '', none, undefined],
    ['an empty object', '{}', none, undefined],
    [
      'a result and more',
      JSON.stringify({ result: { info: ['made'] }, id: 7 }),
      { ...none, info: message('made') },
      { result: { info: ['made'] }, id: 7 },
    ],
    ['a result that is none', '{"result":5}', none, undefined],
    ['a list', '[1]', none, [1]],
    ['text', 'Device added', none, 'Device added'],
    ['a text with a tag in it', 'see <html>', none, 'see <html>'],
    ['an element that only begins so', '<htmlx>', none, '<htmlx>'],
  ])('readAny returns the message lists and the other properties after a write of %s', (_what, body, result, document) => {
    const [answer, whole] = streamed(body, 'text/plain');
    expect(answer.readWriteResult(whole)).toEqual(result);
    expect(answer.document).toEqual(document);
  });

  it('readAny rejects web pages and refusal messages after a write', () => {
    for (const page of ['<html>', ' \n<!DOCTYPE HTML>\n', '<HTML lang="en">']) {
      const [answer, whole] = streamed(page, 'text/plain');
      expect(getThrownError(() => answer.readWriteResult(whole))).toMatchObject({
        code: 'BAD_RESPONSE',
        message: 'The appliance answered a write with an HTML page (status 200).',
      });
    }
    const [answer, whole] = streamed('Invalid import mode', 'text/plain');
    expect(getThrownError(() => answer.readWriteResult(whole))?.code).toBe('REJECTED');
  });

  it('readAny returns up to 16 MiB, although each chunk is valid only during its call', () => {
    const failures: GatewayError[] = [];
    const answer = new AnyResponseCollector();
    expect(answer.isBuffering).toBe(true);
    answer.start(undefined, { pause: () => undefined, resume: () => undefined, fail: (error) => failures.push(error) });
    const chunk = Buffer.alloc(4 * 1024 * 1024, 'x');
    for (let times = 0; times < 4; times++) answer.write(chunk);
    chunk.fill('y');
    const whole: Reply = { ...reply(200, '', 'text/plain'), streamed: true };
    const text = answer.readBody(whole) as string;
    expect([text.length, text.includes('y'), failures]).toEqual([16 * 1024 * 1024, false, []]);
    answer.write(Buffer.from('x'));
    expect(failures).toMatchObject([{ code: 'LIMIT', details: { sent: true } }]);
    expect(failures[0]?.message).toBe(
      'The response is larger than 16 MiB, too large for a message. Use Gateway transfer or Gateway backup for exports.',
    );
    // Nothing of it is kept any longer.
    expect(answer.readBody(whole)).toBe('');
  });
});
