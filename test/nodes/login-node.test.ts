import { describe, expect, it } from 'vitest';
import { expectFailure, LOGIN_PATH, startSimulatorWithGateway } from '../helpers/simulated-appliance';

const flow = { secondFactor: 'flow' } as const;
const factor = { secondFactor: { password: 'second one' } };

describe('a login whose second factor comes by message', () => {
  it('a login that gets its code by message stays pending until the code comes; other messages fail with its id until then', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway(factor, flow);
    const early = await expectFailure(gateway.run('system.info'));
    expect([early.code, early.cause?.resumeId]).toEqual(['SECOND_FACTOR_REQUIRED', undefined]);
    expect(simulator.requests).toEqual([]);
    const { data, envelope } = await gateway.run('login.login');
    expect(data).toEqual({ state: 'pending', resumeId: expect.any(String) as string });
    expect(envelope.changed).toBe(true);
    const waiting = await expectFailure(gateway.run('system.info'));
    expect([waiting.code, waiting.cause?.resumeId]).toEqual(['SECOND_FACTOR_REQUIRED', (data as { resumeId: string }).resumeId]);
    // A second login does not send another code to the telephone.
    expect((await gateway.run('login.login')).data).toEqual(data);
    expect(simulator.logins).toBe(1);
    expect((await gateway.run('login.resume', { code: 'second one' })).data).toEqual({ state: 'ready' });
    expect((await gateway.run('system.info')).envelope.ok).toBe(true);
    const again = await gateway.run('login.login');
    expect([again.data, again.envelope.changed]).toEqual([{ state: 'ready' }, false]);
    expect(simulator.logins).toBe(1);
  });

  it('a login that gets its code by message ends if the code is wrong, never sends the code again and shows it in no message', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway(factor, flow);
    await gateway.run('login.login');
    const wrong = await expectFailure(gateway.run('login.resume', { code: 'wrong-code' }));
    expect(wrong.code).toBe('LOGIN_REJECTED');
    expect(JSON.stringify([wrong.message, wrong.cause])).not.toContain('wrong-code');
    expect((await expectFailure(gateway.run('login.resume', { code: 'wrong-code' }))).code).toBe('BAD_INPUT');
    expect(simulator.requests.filter(({ path }) => path === LOGIN_PATH)).toHaveLength(2);
  });

  it('a login whose codes come from messages can have several steps', async () => {
    const { gateway } = await startSimulatorWithGateway({ secondFactor: { password: 'second one', steps: 2 } }, flow);
    const first = (await gateway.run('login.login')).data as { resumeId: string };
    const second = (await gateway.run('login.resume', { code: 'second one', resumeId: first.resumeId })).data as {
      state: string;
      resumeId: string;
    };
    expect(second.state).toBe('pending');
    expect((await gateway.run('login.resume', { code: 'second one' })).data).toEqual({ state: 'ready' });
  });

  it('a login with a code from a message can be discarded', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway(factor, flow);
    await gateway.run('login.login');
    expect((await gateway.run('login.forget')).data).toEqual({ state: 'none' });
    expect((await expectFailure(gateway.run('system.info'))).cause?.resumeId).toBeUndefined();
    expect(simulator.logins).toBe(1);
  });
});
