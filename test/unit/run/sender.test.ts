import { describe, expect, it } from 'vitest';
import { LightAbortController } from '../../../src/model/abort';
import { Redactor } from '../../../src/model/redaction';
import { IdentityPin } from '../../../src/run/identity-pin';
import { readDocument } from '../../../src/run/reply';
import { expectFailure, SYSTEM_INFORMATION_PATH, LOGIN_PATH } from '../../helpers/simulated-appliance';
import { createRunContext } from '../../helpers/call';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

// The exchanges of one run, driven by themselves.

const PATH = '/api/v1/configuration/users/a';
const GET = { method: 'GET', path: PATH } as const;
const PUT = { method: 'PUT', path: PATH, body: { a: 1 } } as const;
const DONE = '{"result":{"info":[{"message":"done"}]}}';

/** Answers in turn, then `DONE`. */
async function sending(...answers: (string | undefined)[]) {
  const server = await startRawServer((_asked, socket) => {
    if (answers.length === 0) return httpResponse(200, DONE);
    const answer = answers.shift();
    if (answer === undefined) socket.destroy();
    return answer;
  });
  const call = createRunContext(server);
  return { server, call, counted: () => [call.sender.requests, call.sender.retries, call.sender.logins] };
}

describe('Sending a read', () => {
  it('Sender repeats a read after a failure, and counts the repetition for the run and for the appliance', async () => {
    const { call, counted } = await sending(httpResponse(503));
    expect(await call.read(GET)).toEqual({ result: { info: [{ message: 'done' }] } });
    expect(counted()).toEqual([2, 1, 1]);
    expect([call.counters.retries, call.counters.logins]).toEqual([1, 1]);
  });

  it('Sender repeats a read at most twice, and not after a failed login', async () => {
    const { call, counted } = await sending(httpResponse(503), httpResponse(503));
    expect(await call.read(GET)).toHaveProperty('result');
    expect(counted()).toEqual([3, 2, 1]);
    const shut = await startRawServer(() => httpResponse(503), { forwardsLogins: true });
    const other = createRunContext(shut);
    expect((await expectFailure(other.read(GET))).code).toBe('APPLIANCE_ERROR');
    expect([other.sender.requests, other.sender.retries, shut.requests.length]).toEqual([0, 0, 1]);
  });

  it('Sender does not repeat a read after a response that would not change', async () => {
    const { call, counted } = await sending(httpResponse(404));
    expect((await expectFailure(call.read(GET))).code).toBe('NOT_FOUND');
    expect(counted()).toEqual([1, 0, 1]);
  });

  it('a canceled read ends at once during a retry pause, and says so', async () => {
    const stop = new LightAbortController();
    const { call, counted } = await sending(httpResponse(503));
    const read = expectFailure(
      call.sender.read(async (send) => {
        const reply = await send(GET);
        // The pause begins now.
        setImmediate(() => stop.abort());
        return readDocument(reply);
      }, stop),
    );
    expect((await read).code).toBe('ABORTED');
    const shared = expectFailure(call.sender.waitFor(new Promise(() => undefined), stop));
    expect(await shared).toMatchObject({ code: 'ABORTED', message: 'Canceled before it was sent.', details: { sent: false } });
    expect(counted()).toEqual([1, 0, 1]);
  });
});

describe('Sending a write', () => {
  it('a write whose connection is cut fails with OUTCOME_UNKNOWN, the reason and advice', async () => {
    const { call, counted } = await sending(undefined);
    const error = await expectFailure(call.write(PUT));
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { reason: 'CONNECTION', sent: true } });
    expect(error.message).toMatch(
      /^The write may or may not have happened\. Check before you repeat it\. The connection to 127\.0\.0\.1:\d+ was cut/,
    );
    expect(counted()).toEqual([1, 0, 1]);
    expect([call.counters.retries, call.counters.logins]).toEqual([0, 1]);
  });

  it.each([
    ['its replay was cut off', 1, 'OUTCOME_UNKNOWN'],
    ['the login before its replay was', 0, 'CONNECTION'],
  ])('a write with an expired key fails with OUTCOME_UNKNOWN if %s', async (_where, most, code) => {
    let logins = 0;
    let writes = 0;
    const server = await startRawServer(
      ({ path }, socket) => {
        if (path !== LOGIN_PATH && writes++ === 0) return httpResponse(401);
        if (path === LOGIN_PATH && logins++ <= most) return httpResponse(200, `{"api_key":"${logins}"}`);
        return void socket.destroy();
      },
      { forwardsLogins: true },
    );
    expect((await expectFailure(createRunContext(server).write(PUT))).code).toBe(code);
    expect([logins, writes]).toEqual([2, 1 + most]);
  });

  it('a write with an unreadable response fails with OUTCOME_UNKNOWN and the status', async () => {
    const { call } = await sending(httpResponse(200, '<html>'));
    expect(await expectFailure(call.write(PUT))).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      details: { reason: 'BAD_RESPONSE', status: 200 },
    });
  });

  it('a write whose login fails is reported as not sent', async () => {
    const server = await startRawServer(() => undefined, { forwardsLogins: true });
    const call = createRunContext(server, {}, { timeout: 0.2 });
    expect((await expectFailure(call.write(PUT))).code).toBe('TIMEOUT');
    expect([call.sender.requests, call.sender.logins]).toEqual([0, 1]);
  });

  it('a write whose body cannot be JSON is not sent', async () => {
    const { server, call } = await sending();
    expect((await expectFailure(call.write({ ...PUT, body: { a: NaN } }))).code).toBe('BAD_INPUT');
    expect(server.requests).toEqual([]);
  });

  it('a write sends the given path, query and body', async () => {
    const { server, call } = await sending();
    await call.write({ ...PUT, query: { a: 'b c' } });
    await call.write({ ...PUT, rawQuery: 'a=%41' });
    await call.write({ method: 'DELETE', path: PATH });
    expect(server.requests.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['PUT', `${PATH}?a=b%20c`, '{"a":1}'],
      ['PUT', `${PATH}?a=%41`, '{"a":1}'],
      ['DELETE', PATH, ''],
    ]);
  });
});

describe('Sending a write to a pinned appliance', () => {
  const asked = (path: string): string =>
    path === SYSTEM_INFORMATION_PATH ? httpResponse(200, '{"serial-number":"A1"}') : httpResponse(200, DONE);

  it.each([
    ['A1', ['GET', 'PUT'], 'none'],
    ['B2', ['GET'], 'BAD_CONFIG'],
  ])('a write checks the identity of a pinned appliance first (%s)', async (name, methods, code) => {
    const server = await startRawServer(({ path }) => asked(path));
    const call = createRunContext(server, { masker: new Redactor() }, {}, new IdentityPin(name));
    expect(call.sender.isPinned).toBe(true);
    const outcome = await call.sender.write(PUT).then(
      () => 'none',
      (error: { code: string }) => error.code,
    );
    expect([outcome, server.requests.map(({ method }) => method)]).toEqual([code, methods]);
    expect((await call.read(GET))['result']).toBeDefined();
  });

  it('a write to an appliance without a pin does not check the identity', async () => {
    const server = await startRawServer(({ path }) => asked(path));
    const { sender } = createRunContext(server);
    expect(sender.isPinned).toBe(false);
    await sender.verifyIdentity();
    await sender.write(PUT);
    expect(server.requests.map(({ method }) => method)).toEqual(['PUT']);
  });
});
