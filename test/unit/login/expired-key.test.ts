import { describe, expect, it } from 'vitest';
import { ProcessCoordination } from '../../../src/model/process-coordination';
import type { Settings } from '../../../src/model/settings';
import {
  startTestSimulator,
  expectFailure,
  gatewayFor,
  SYSTEM_INFORMATION_PATH,
  LOGIN_PATH,
  listWriteLines,
  type AnyGateway,
} from '../../helpers/simulated-appliance';
import { httpResponse, startRawServer } from '../../helpers/raw-server';
import type { Simulator } from '../../../src/simulator';

const ROLE = 'users/user-roles/user-role/Users';
const ENVELOPE = JSON.stringify({ result: { errors: [{ message: 'not permitted' }] } });

/** An account that nothing is known of, and a release that answers a dead key by a bare 403. */
async function bare(more: Partial<Settings> = {}): Promise<{ simulator: Simulator; gateway: AnyGateway }> {
  const simulator = await startTestSimulator({ variants: { deadKeyStatus: 403 } });
  return { simulator, gateway: gatewayFor(simulator, more, { coordination: new ProcessCoordination() }) };
}

const logins = (simulator: Simulator): number => simulator.requests.filter(({ path }) => path === LOGIN_PATH).length;
const kill = (simulator: Simulator): void => simulator.state.login.keys.clear();

describe('a 403 without a result envelope to a key that had been accepted', () => {
  it('is answered by one login and one replay, reads, writes and transfers alike', async () => {
    const { simulator, gateway } = await bare();
    await gateway.run('system.info');
    for (const [operation, input] of [
      ['system.info', {}],
      ['config.update', { path: ROLE, body: { description: 'x' } }],
      ['transfer.export-xml', {}],
      ['transfer.import-xml', { xml: '<configuration/>' }],
    ] as const) {
      kill(simulator);
      const before = logins(simulator);
      const { envelope } = await gateway.run(operation, input);
      expect(envelope, operation).toMatchObject({ ok: true, logins: 1, requests: 2 });
      expect(logins(simulator)).toBe(before + 1);
    }
    expect(listWriteLines(simulator).filter((line) => line.startsWith('PUT'))).toHaveLength(2);
  });

  it('is one login however many messages it meets', async () => {
    const { simulator, gateway } = await bare();
    await gateway.run('system.info');
    kill(simulator);
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => gateway.run('system.info')));
    expect(outcomes.every(({ envelope }) => envelope.ok)).toBe(true);
    expect(logins(simulator)).toBe(2);
  });

  it('is FORBIDDEN when the fresh key is refused too, and then leads to no login', async () => {
    const allowed = '{"ok":true}';
    let logins = 0;
    const server = await startRawServer(
      ({ path }) => {
        if (path === LOGIN_PATH) return httpResponse(200, `{"api_key":"key${logins++}"}`);
        return path === SYSTEM_INFORMATION_PATH ? httpResponse(200, allowed) : httpResponse(403);
      },
      { forwardsLogins: true },
    );
    const gateway = gatewayFor(server, {}, { coordination: new ProcessCoordination() });
    await gateway.run('system.info');
    const first = await expectFailure(gateway.run('config.update', { path: ROLE, body: {} }));
    expect(first).toMatchObject({ code: 'FORBIDDEN', cause: { logins: 1, requests: 2, changed: false } });
    await gateway.run('system.info');
    for (let times = 0; times < 3; times++) {
      const again = await expectFailure(gateway.run('config.get', { path: ROLE }));
      expect(again).toMatchObject({ code: 'FORBIDDEN', cause: { logins: 0, requests: 1 } });
      expect((await gateway.run('system.info')).envelope.logins).toBe(0);
    }
    expect(logins).toBe(2);
  });

  it('leads to no login where the key was never accepted, was pasted, or needs a person', async () => {
    for (const [more, accepted] of [
      [{}, false],
      [{ login: 'key', apiKey: 'pasted' }, true],
    ] as const) {
      let logins = 0;
      const server = await startRawServer(
        ({ path }) => {
          if (path === LOGIN_PATH) return httpResponse(200, `{"api_key":"key${logins++}"}`);
          return path === SYSTEM_INFORMATION_PATH ? httpResponse(200, '{"ok":true}') : httpResponse(403);
        },
        { forwardsLogins: true },
      );
      const gateway = gatewayFor(server, more, { coordination: new ProcessCoordination() });
      if (accepted) await gateway.run('system.info');
      const before = logins;
      expect(await expectFailure(gateway.run('config.get', { path: ROLE }))).toMatchObject({ code: 'FORBIDDEN', cause: { requests: 1 } });
      expect(logins).toBe(accepted ? before : 1);
    }
  });
});

/** An appliance that takes the key for the system information, and answers all else so; a login by a flow is taken at its first step. */
async function refusing(answer: () => string, more: Partial<Settings> = {}) {
  let logins = 0;
  const server = await startRawServer(
    ({ path }) => {
      if (path === LOGIN_PATH) return httpResponse(200, `{"api_key":"key${logins++}"}`);
      return path === SYSTEM_INFORMATION_PATH ? httpResponse(200, '{"ok":true}') : answer();
    },
    { forwardsLogins: true },
  );
  return { gateway: gatewayFor(server, more, { coordination: new ProcessCoordination() }), logins: () => logins };
}

describe('such a 403', () => {
  const get = (gateway: AnyGateway): Promise<unknown> => gateway.run('config.get', { path: ROLE });

  it('leads to no login where a person has to log in: the key may be good for everything else', async () => {
    const { gateway, logins } = await refusing(() => httpResponse(403), { secondFactor: 'flow' });
    await gateway.run('login.login');
    await gateway.run('system.info');
    expect(await expectFailure(get(gateway))).toMatchObject({ code: 'FORBIDDEN', cause: { requests: 1, logins: 0 } });
    expect((await gateway.run('system.info')).envelope).toMatchObject({ ok: true, logins: 0 });
    expect(logins()).toBe(1);
  });

  it('is the outcome while logins pause, whatever they pause for', async () => {
    let status = 401;
    const { gateway, logins } = await refusing(() => httpResponse(status));
    await gateway.run('system.info');
    expect((await expectFailure(get(gateway))).code).toBe('UNAUTHORIZED');
    await gateway.run('system.info');
    status = 403;
    expect(await expectFailure(get(gateway))).toMatchObject({ code: 'FORBIDDEN', cause: { requests: 1, logins: 0 } });
    await gateway.run('system.info');
    expect(logins()).toBe(2);
  });

  it('counts as one that a login does not help against only where the fresh key is answered so too', async () => {
    const bodies: (string | undefined)[] = [undefined, ENVELOPE, undefined, undefined];
    const { gateway, logins } = await refusing(() => httpResponse(403, bodies.shift()));
    await gateway.run('system.info');
    // Refused by a dead key, then in words.
    expect(await expectFailure(get(gateway))).toMatchObject({ code: 'FORBIDDEN', cause: { requests: 2 } });
    await gateway.run('system.info');
    expect(await expectFailure(get(gateway))).toMatchObject({ code: 'FORBIDDEN', cause: { requests: 2 } });
    await gateway.run('system.info');
    expect(await expectFailure(get(gateway))).toMatchObject({ code: 'FORBIDDEN', cause: { requests: 1 } });
    expect(logins()).toBe(3);
  });
});

describe('a 403 with a result envelope', () => {
  it('never leads to a login', async () => {
    const { simulator, gateway } = await bare();
    await gateway.run('system.info');
    simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, status: 403, body: ENVELOPE });
    expect(await expectFailure(gateway.run('system.info'))).toMatchObject({ code: 'FORBIDDEN', cause: { logins: 0, requests: 1 } });
    expect(logins(simulator)).toBe(1);
  });
});

describe('a second 401', () => {
  it('does not spoil the fresh key for the others', async () => {
    let logins = 0;
    // One path is refused whatever the key: the key itself is good.
    const server = await startRawServer(
      ({ path }) => {
        if (path === LOGIN_PATH) return httpResponse(200, `{"api_key":"key${logins++}"}`);
        return path === SYSTEM_INFORMATION_PATH ? httpResponse(200, '{"ok":true}') : httpResponse(401);
      },
      { forwardsLogins: true },
    );
    const gateway = gatewayFor(server, {}, { coordination: new ProcessCoordination() });
    await gateway.run('system.info');
    expect(await expectFailure(gateway.run('config.get', { path: ROLE }))).toMatchObject({
      code: 'UNAUTHORIZED',
      cause: { requests: 2, logins: 1 },
    });
    expect((await gateway.run('system.info')).envelope).toMatchObject({ logins: 0, requests: 1 });
    expect(logins).toBe(2);
  });
});
