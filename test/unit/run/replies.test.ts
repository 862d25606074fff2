import { describe, expect, it } from 'vitest';
import type { FaultRule, Variants } from '../../../src/simulator';
import {
  listRequests,
  expectFailure,
  gatewayFor,
  SYSTEM_INFORMATION_PATH,
  LOGIN_PATH,
  startSimulatorWithGateway,
  USER_ROLES_PATH,
  listWriteLines,
} from '../../helpers/simulated-appliance';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

const role = 'users/user-roles/user-role';
const lists = (result: Record<string, string[]>): string =>
  JSON.stringify({
    result: Object.fromEntries(Object.entries(result).map(([name, texts]) => [name, texts.map((message) => ({ message }))])),
  });
const isWrite = ({ method, path }: { method: string; path: string }): boolean => method !== 'GET' && path !== LOGIN_PATH;
const update = { path: `${role}/Users`, body: { description: 'changed' } };

describe('The response to a write', () => {
  const none = { info: [], warnings: [], errors: [] };
  const success = [{ message: 'Operation succeeded without warning or error!' }];

  it.each<[string, Partial<Variants>, number, Record<string, unknown>]>([
    ['200', { updateStatus: 200 }, 200, { ...none, info: success }],
    ['201', { updateStatus: 201 }, 201, { ...none, info: success }],
    ['204', { updateStatus: 204 }, 204, none],
    ['204 without content type', { updateStatus: 204, noContentType: false }, 204, none],
    ['all lists', { allLists: true }, 200, { ...none, info: success }],
    ['the other spelling', { successText: 'long' }, 200, { ...none, info: [{ message: expect.stringContaining('succeeded') as string }] }],
    ['warnings alone', { warningsOnly: true }, 200, { ...none, warnings: [{ message: 'The configuration has been implicitly changed' }] }],
  ])('The response to a write is accepted: %s', async (_name, variants, status, result) => {
    const { gateway } = await startSimulatorWithGateway({ variants });
    const { data, envelope } = await gateway.run('config.update', update);
    expect(data).toEqual({ result });
    expect(envelope).toMatchObject({ ok: true, status, result, changed: null });
  });

  it.each<[string, FaultRule]>([
    ['200 without a body', { status: 200, body: '' }],
    ['201 without a body', { status: 201, body: '' }],
    ['200 with blanks', { status: 200, body: ' \r\n' }],
    ['empty lists', { body: lists({ info: [], warnings: [], errors: [] }) }],
    ['no list at all', { body: '{"result":{}}' }],
    ['null lists', { body: '{"result":{"info":null}}' }],
  ])('The response to a write is accepted in this form: %s', async (_name, fault) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: isWrite, ...fault });
    expect((await gateway.run('config.update', update)).data).toEqual({ result: none });
  });

  it.each<[string, FaultRule]>([
    ['HTML', { body: '<html>Log in</html>' }],
    ['no JSON', { body: 'ok' }],
    ['JSON cut short', { truncate: 'half' }],
    ['an array', { body: '[]' }],
    ['no result', { body: '{}' }],
    ['a result that is none', { body: '{"result":"ok"}' }],
    ['lists that are none', { body: '{"result":{"errors":"none"}}' }],
    ['messages that are none', { body: '{"result":{"errors":[5]}}' }],
    ['a body cut by its length', { cut: 'half', afterEffect: true }],
  ])('The response to a write is an unknown outcome if it has %s', async (_name, fault) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: isWrite, ...fault });
    const error = await expectFailure(gateway.run('config.update', update));
    expect(error).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      cause: { reason: 'BAD_RESPONSE', status: expect.toBeOneOf([200, null]) as number },
    });
    expect(listWriteLines(simulator)).toHaveLength(1);
  });

  it('The response to a write is an error with all messages if a 2xx status comes with errors', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: isWrite, body: lists({ info: ['Saved.'], errors: ['One is wrong.', 'Two is wrong.'] }) });
    const error = await expectFailure(gateway.run('config.update', update));
    expect(error).toMatchObject({
      code: 'APPLIANCE_ERROR',
      cause: { status: 200, result: { info: [{ message: 'Saved.' }], warnings: [], errors: [{}, { message: 'Two is wrong.' }] } },
    });
    expect(error.message).toMatch(/One is wrong\. Two is wrong\./);
  });

  it('The response to a write is an error if a 200 status comes with a refusal', async () => {
    const { gateway } = await startSimulatorWithGateway({ variants: { errorsInSuccess: true } });
    expect(await expectFailure(gateway.run('config.delete', { path: `${role}/Nobody` }))).toMatchObject({
      code: 'APPLIANCE_ERROR',
      cause: { status: 200, result: { errors: [{ message: expect.stringContaining('does not exist') as string }] } },
    });
  });
});

describe('A response with an error', () => {
  it.each<[number, string]>([
    [400, 'INVALID_REQUEST'],
    [403, 'FORBIDDEN'],
    [404, 'NOT_FOUND'],
    [422, 'REJECTED'],
    [405, 'APPLIANCE_ERROR'],
    [409, 'APPLIANCE_ERROR'],
    [429, 'APPLIANCE_ERROR'],
    [300, 'APPLIANCE_ERROR'],
    [304, 'APPLIANCE_ERROR'],
  ])('An error response with status %i is %s, with any body', async (status, code) => {
    const said = lists({ errors: ['It is said.'] });
    for (const body of [said, '', '<html><h1>Error</h1></html>', 'null', said.slice(0, 20)]) {
      for (const operation of ['system.info', 'sessions.kill-all']) {
        const server = await startRawServer(() => httpResponse(status, status === 304 ? '' : body));
        const error = await expectFailure(gatewayFor(server).run(operation));
        expect(error).toMatchObject({ code, cause: { status, ok: false, requests: 1 } });
        const quoted = body === said && status !== 304;
        expect(error.cause?.result.errors).toEqual(quoted ? [{ message: 'It is said.' }] : []);
        expect(error.message.includes('It is said.')).toBe(quoted);
        expect(error.message).not.toContain('<');
      }
    }
  });

  it.each<Partial<Variants>>([{ errorBody: 'envelope' }, { errorBody: 'empty' }, { errorBody: 'html' }])(
    'An error response keeps its code with the body %j',
    async (variants) => {
      const { gateway } = await startSimulatorWithGateway({ variants });
      expect((await expectFailure(gateway.run('config.get', { path: `${role}/Nobody` }))).code).toBe('NOT_FOUND');
      expect((await expectFailure(gateway.run('config.create', { path: role, body: { name: 'Users' } }))).code).toBe('REJECTED');
      expect((await expectFailure(gateway.run('config.delete', { path: `${role}/Users` }))).code).toBe('REJECTED');
    },
  );

  it.each([301, 302, 307, 308])('An error response with the redirect status %i is not followed to another address', async (status) => {
    const elsewhere = await startRawServer(() => httpResponse(200, '{}'));
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.fault({ status, headers: { location: `${elsewhere.url}${SYSTEM_INFORMATION_PATH}` }, times: 2 });
    for (const operation of ['system.info', 'sessions.kill-all']) {
      const error = await expectFailure(gateway.run(operation));
      expect(error).toMatchObject({ code: 'APPLIANCE_ERROR', cause: { status }, message: expect.stringContaining('redirects') as string });
    }
    expect(elsewhere.requests).toEqual([]);
    expect(listRequests(simulator)).toHaveLength(3);
  });

  it('A redirect response to a login is not followed to another address', async () => {
    const elsewhere = await startRawServer(() => httpResponse(200, '{"api_key":"stolen"}'), { forwardsLogins: true });
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: ({ path }) => path === LOGIN_PATH, status: 307, headers: { location: `${elsewhere.url}${LOGIN_PATH}` } });
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('APPLIANCE_ERROR');
    expect(elsewhere.requests).toEqual([]);
  });
});

describe('A message that the interface names in an envelope', () => {
  const named = [
    'Invalid import mode',
    'Error - Failed to extract configuration files',
    'This node is not part of an Active-Passive cluster. The operation is invalid.',
  ];

  it.each(named)('the documented refusal %s is REJECTED in any envelope', async (message) => {
    for (const status of [200, 201, 400, 404, 422, 500]) {
      for (const list of ['info', 'warnings', 'errors']) {
        const { simulator, gateway } = await startSimulatorWithGateway();
        simulator.fault({ match: isWrite, status, body: lists({ [list]: [message] }) });
        const error = await expectFailure(gateway.run('sessions.kill-all'));
        expect(error).toMatchObject({ code: 'REJECTED', cause: { status, result: { [list]: [{ message }] } } });
        expect(error.message).toContain(message);
        expect(listWriteLines(simulator)).toHaveLength(1);
      }
    }
  });
});

describe('A message that the interface names without an envelope', () => {
  it.each([
    [200, '<html><body>Error - Failed to extract configuration files</body></html>', 'Error - Failed to extract configuration files'],
    [500, '<h1>Oops</h1>\n<p>Failed to extract configuration files from it</p>', 'Failed to extract configuration files from it'],
    [400, 'Invalid import mode', 'Invalid import mode'],
  ])('the message of a response with status %i and no envelope is reported: %s', async (status, body, words) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: isWrite, status, body });
    const error = await expectFailure(gateway.run('transfer.import-binary', { data: 'UEsDBA==' }));
    expect(error).toMatchObject({ code: 'REJECTED', cause: { status } });
    expect(error.message).toContain(words);
    expect(error.message).not.toContain('<');
  });

  it('A known message without an envelope is recognized only as the whole response', async () => {
    const { gateway } = await startSimulatorWithGateway();
    await gateway.run('config.create', { path: role, body: { name: 'Invalid import mode' } });
    const { data } = await gateway.run('config.get', { path: `${role}/Invalid import mode` });
    expect(data).toMatchObject({ name: 'Invalid import mode' });
  });
});

describe('The response to a read', () => {
  it.each<[string, FaultRule]>([
    ['nothing', { body: '' }],
    ['HTML', { body: '<!DOCTYPE html><title>Log in</title>' }],
    ['an array', { body: '[{}]' }],
    ['text', { body: '"text"' }],
    ['null', { body: 'null' }],
    ['half of it', { truncate: 'half' }],
    ['a result that is none', { body: '{"result":{"errors":[{"text":"?"}]}}' }],
  ])('The response to a read with %s is BAD_RESPONSE, and the read is not repeated', async (_name, fault) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, ...fault });
    const error = await expectFailure(gateway.run('system.info'));
    expect(error).toMatchObject({ code: 'BAD_RESPONSE', cause: { status: 200, requests: 1 } });
  });

  it('The response to a read is APPLIANCE_ERROR if a 200 status comes with errors', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, body: lists({ errors: ['Not now.'] }) });
    expect(await expectFailure(gateway.run('system.info'))).toMatchObject({
      code: 'APPLIANCE_ERROR',
      message: expect.stringContaining('Not now.') as string,
    });
  });

  it('The response to a read is returned unchanged', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const { data, envelope } = await gateway.run('config.get', { path: `${role}/Users` });
    expect(data).toMatchObject({ name: 'Users' });
    expect(envelope).toMatchObject({
      request: { method: 'GET', path: `${USER_ROLES_PATH}/Users` },
      status: 200,
      changed: null,
      result: { errors: [] },
    });
    expect(envelope).not.toHaveProperty('plan');
    expect(envelope).not.toHaveProperty('sent');
  });
});
