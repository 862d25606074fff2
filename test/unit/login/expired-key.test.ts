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

/** A new account on a release that answers an expired key with a bare 403. */
async function bare(more: Partial<Settings> = {}): Promise<{ simulator: Simulator; gateway: AnyGateway }> {
  const simulator = await startTestSimulator({ variants: { deadKeyStatus: 403 } });
  return { simulator, gateway: gatewayFor(simulator, more, { coordination: new ProcessCoordination() }) };
}

const logins = (simulator: Simulator): number => simulator.requests.filter(({ path }) => path === LOGIN_PATH).length;
const kill = (simulator: Simulator): void => simulator.state.login.keys.clear();

describe('a bare 403 to an accepted key', () => {
  it('a 403 without a result envelope to an accepted key causes one login, and the request is sent once more', async () => {
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

  it('a 403 without a result envelope to an accepted key causes one login for any number of messages', async () => {
    const { simulator, gateway } = await bare();
    await gateway.run('system.info');
    kill(simulator);
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => gateway.run('system.info')));
    expect(outcomes.every(({ envelope }) => envelope.ok)).toBe(true);
    expect(logins(simulator)).toBe(2);
  });

  it('a 403 without a result envelope ends in FORBIDDEN without further logins when the fresh key gets it too', async () => {
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

  it('a 403 without a result envelope causes no login for a key that was never accepted, was pasted or needs a person', async () => {
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

/** Accepts the key for the system information only, and a flow's login at its first step. */
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

describe('a bare 403 and further logins', () => {
  const get = (gateway: AnyGateway): Promise<unknown> => gateway.run('config.get', { path: ROLE });

  it('a 403 without a result envelope causes no login when a person must log in', async () => {
    const { gateway, logins } = await refusing(() => httpResponse(403), { secondFactor: 'flow' });
    await gateway.run('login.login');
    await gateway.run('system.info');
    expect(await expectFailure(get(gateway))).toMatchObject({ code: 'FORBIDDEN', cause: { requests: 1, logins: 0 } });
    expect((await gateway.run('system.info')).envelope).toMatchObject({ ok: true, logins: 0 });
    expect(logins()).toBe(1);
  });

  it('while logins pause, a 403 without a result envelope is the outcome of the message', async () => {
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

  it('a login after a 403 without a result envelope counts as futile only when the fresh key gets a 403 too', async () => {
    const bodies: (string | undefined)[] = [undefined, ENVELOPE, undefined, undefined];
    const { gateway, logins } = await refusing(() => httpResponse(403, bodies.shift()));
    await gateway.run('system.info');
    // First a bare 403 to the expired key, then one with words.
    expect(await expectFailure(get(gateway))).toMatchObject({ code: 'FORBIDDEN', cause: { requests: 2 } });
    await gateway.run('system.info');
    expect(await expectFailure(get(gateway))).toMatchObject({ code: 'FORBIDDEN', cause: { requests: 2 } });
    await gateway.run('system.info');
    expect(await expectFailure(get(gateway))).toMatchObject({ code: 'FORBIDDEN', cause: { requests: 1 } });
    expect(logins()).toBe(3);
  });
});

describe('a 403 with a result envelope', () => {
  it('a 403 with a result envelope never causes a login', async () => {
    const { simulator, gateway } = await bare();
    await gateway.run('system.info');
    simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, status: 403, body: ENVELOPE });
    expect(await expectFailure(gateway.run('system.info'))).toMatchObject({ code: 'FORBIDDEN', cause: { logins: 0, requests: 1 } });
    expect(logins(simulator)).toBe(1);
  });
});

describe('a second 401', () => {
  it('a second 401 does not discard the new key for other requests', async () => {
    let logins = 0;
    // One path is refused with any key, so the key itself is good.
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
