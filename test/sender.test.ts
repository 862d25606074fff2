import { describe, expect, it } from 'vitest';
import { Canceller } from '../src/model/cancelling';
import { Redactor } from '../src/model/redaction';
import { Pin } from '../src/run/pin';
import { readDocument } from '../src/run/reply';
import { failure, INFO, LOGIN } from './library/appliance';
import { callOf } from './library/call';
import { http, wire } from './library/wire';

// The exchanges of one run, driven by themselves.

const PATH = '/api/v1/configuration/users/a';
const GET = { method: 'GET', path: PATH } as const;
const PUT = { method: 'PUT', path: PATH, body: { a: 1 } } as const;
const DONE = '{"result":{"info":[{"message":"done"}]}}';

/** Answers in turn, then `DONE`. */
async function sending(...answers: (string | undefined)[]) {
  const server = await wire((_asked, socket) => {
    if (answers.length === 0) return http(200, DONE);
    const answer = answers.shift();
    if (answer === undefined) socket.destroy();
    return answer;
  });
  const call = callOf(server);
  return { server, call, counted: () => [call.sender.requests, call.sender.retries, call.sender.logins] };
}

describe('a read', () => {
  it('is sent again after a fault, which is counted for the run and for the appliance', async () => {
    const { call, counted } = await sending(http(503));
    expect(await call.read(GET)).toEqual({ result: { info: [{ message: 'done' }] } });
    expect(counted()).toEqual([2, 1, 1]);
    expect([call.counters.retries, call.counters.logins]).toEqual([1, 1]);
  });

  it('is sent again twice at most, and not at all for a login that failed', async () => {
    const { call, counted } = await sending(http(503), http(503));
    expect(await call.read(GET)).toHaveProperty('result');
    expect(counted()).toEqual([3, 2, 1]);
    const shut = await wire(() => http(503), { logins: true });
    const other = callOf(shut);
    expect((await failure(other.read(GET))).code).toBe('APPLIANCE_ERROR');
    expect([other.sender.requests, other.sender.retries, shut.asked.length]).toEqual([0, 0, 1]);
  });

  it('is not sent again after an answer that would be the same', async () => {
    const { call, counted } = await sending(http(404));
    expect((await failure(call.read(GET))).code).toBe('NOT_FOUND');
    expect(counted()).toEqual([1, 0, 1]);
  });

  it('ends at once with whoever is cancelled while it pauses, and says that it was', async () => {
    const stop = new Canceller();
    const { call, counted } = await sending(http(503));
    const read = failure(
      call.sender.read(async (send) => {
        const reply = await send(GET);
        // The pause begins now.
        setImmediate(() => stop.abort());
        return readDocument(reply);
      }, stop),
    );
    expect((await read).code).toBe('ABORTED');
    const shared = failure(call.sender.waitFor(new Promise(() => undefined), stop));
    expect(await shared).toMatchObject({ code: 'ABORTED', message: 'Cancelled before it was sent.', details: { sent: false } });
    expect(counted()).toEqual([1, 0, 1]);
  });
});

describe('a write', () => {
  it('that was cut off is unknown, in words that say what to do, with the reason beside them', async () => {
    const { call, counted } = await sending(undefined);
    const error = await failure(call.write(PUT));
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { reason: 'CONNECTION', sent: true } });
    expect(error.message).toMatch(
      /^It may or may not have happened, look before you send it again\. The connection to 127\.0\.0\.1:\d+ was cut/,
    );
    expect(counted()).toEqual([1, 0, 1]);
    expect([call.counters.retries, call.counters.logins]).toEqual([0, 1]);
  });

  it.each([
    ['its replay was cut off', 1, 'OUTCOME_UNKNOWN'],
    ['the login before its replay was', 0, 'CONNECTION'],
  ])('whose key had died is unknown where %s', async (_where, most, code) => {
    let logins = 0;
    let writes = 0;
    const server = await wire(
      ({ path }, socket) => {
        if (path !== LOGIN && writes++ === 0) return http(401);
        if (path === LOGIN && logins++ <= most) return http(200, `{"api_key":"${logins}"}`);
        return void socket.destroy();
      },
      { logins: true },
    );
    expect((await failure(callOf(server).write(PUT))).code).toBe(code);
    expect([logins, writes]).toEqual([2, 1 + most]);
  });

  it('that was answered by nonsense is unknown too, with its status', async () => {
    const { call } = await sending(http(200, '<html>'));
    expect(await failure(call.write(PUT))).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { reason: 'BAD_RESPONSE', status: 200 } });
  });

  it('that could not log in is as good as unsent', async () => {
    const server = await wire(() => undefined, { logins: true });
    const call = callOf(server, {}, { timeout: 0.2 });
    expect((await failure(call.write(PUT))).code).toBe('TIMEOUT');
    expect([call.sender.requests, call.sender.logins]).toEqual([0, 1]);
  });

  it('is not sent where its body is none', async () => {
    const { server, call } = await sending();
    expect((await failure(call.write({ ...PUT, body: { a: NaN } }))).code).toBe('BAD_INPUT');
    expect(server.asked).toEqual([]);
  });

  it('goes to the path and query that it has, with its body as it is', async () => {
    const { server, call } = await sending();
    await call.write({ ...PUT, query: { a: 'b c' } });
    await call.write({ ...PUT, rawQuery: 'a=%41' });
    await call.write({ method: 'DELETE', path: PATH });
    expect(server.asked.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['PUT', `${PATH}?a=b%20c`, '{"a":1}'],
      ['PUT', `${PATH}?a=%41`, '{"a":1}'],
      ['DELETE', PATH, ''],
    ]);
  });
});

describe('an appliance that is to be the pinned one', () => {
  const asked = (path: string): string => (path === INFO ? http(200, '{"serial-number":"A1"}') : http(200, DONE));

  it.each([
    ['A1', ['GET', 'PUT'], 'none'],
    ['B2', ['GET'], 'BAD_CONFIG'],
  ])('is asked before a write by whoever sends one (%s)', async (name, methods, code) => {
    const server = await wire(({ path }) => asked(path));
    const call = callOf(server, { masking: new Redactor() }, {}, new Pin(name));
    expect(call.sender.isPinned).toBe(true);
    const outcome = await call.sender.write(PUT).then(
      () => 'none',
      (error: { code: string }) => error.code,
    );
    expect([outcome, server.asked.map(({ method }) => method)]).toEqual([code, methods]);
    expect((await call.read(GET))['result']).toBeDefined();
  });

  it('is asked nothing where any may be written to', async () => {
    const server = await wire(({ path }) => asked(path));
    const { sender } = callOf(server);
    expect(sender.isPinned).toBe(false);
    await sender.identify();
    await sender.write(PUT);
    expect(server.asked.map(({ method }) => method)).toEqual(['PUT']);
  });
});
