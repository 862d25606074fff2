import { describe, expect, it } from 'vitest';
import {
  listRequests,
  expectFailure,
  isInformationRequest,
  isWriteRequest,
  startSimulatorWithGateway,
  listWriteLines,
} from '../../helpers/simulated-appliance';

describe('A run', () => {
  it.each([
    ['5xx', { status: 503 }, 'APPLIANCE_ERROR'],
    ['cut connection', { cut: 'before-headers' as const }, 'CONNECTION'],
    ['cut answer', { cut: 'half' as const }, 'BAD_RESPONSE'],
  ])('A run repeats a read at most twice after a %s, with growing pauses', async (_name, fault, code) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: isInformationRequest, times: 99, ...fault });
    expect(await expectFailure(gateway.run('system.info'))).toMatchObject({ code, cause: { requests: 3, retries: 2, logins: 1 } });
    const [first = 0, second = 0, third = 0] = listRequests(simulator).map(({ at }) => at);
    expect(listRequests(simulator)).toHaveLength(3);
    expect(second - first).toBeGreaterThanOrEqual(100);
    expect(third - second).toBeGreaterThan((second - first) * 1.5);
    simulator.clearFaults();
    simulator.fault({ match: isInformationRequest, times: 2, ...fault });
    expect((await gateway.run('system.info')).envelope).toMatchObject({ ok: true, status: 200, requests: 3, retries: 2 });
  });

  it.each([
    ['400', { status: 400 }, 'INVALID_REQUEST'],
    ['404', { status: 404 }, 'NOT_FOUND'],
    ['422', { status: 422 }, 'REJECTED'],
    ['no answer in time', { hang: true }, 'TIMEOUT'],
    ['nonsense', { body: 'nonsense' }, 'BAD_RESPONSE'],
  ])('A run does not repeat a read after %s', async (_name, fault, code) => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, 'hang' in fault ? { timeout: 2 } : {});
    simulator.fault({ match: isInformationRequest, times: 99, ...fault });
    expect((await expectFailure(gateway.run('system.info'))).code).toBe(code);
    expect(listRequests(simulator)).toHaveLength(1);
  });

  it.each([500, 502, 503, 504])('A run does not repeat a write after the response %i', async (status) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: isWriteRequest, times: 99, status });
    expect(await expectFailure(gateway.run('sessions.kill-all'))).toMatchObject({
      code: 'APPLIANCE_ERROR',
      cause: { status, requests: 1 },
    });
    expect(listWriteLines(simulator)).toHaveLength(1);
  });

  it('A run ends when it is canceled during a pause', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: isInformationRequest, times: 99, status: 500 });
    const abort = new AbortController();
    const error = expectFailure(gateway.run('system.info', {}, abort.signal));
    await expect.poll(() => listRequests(simulator).at(-1)?.status === 500 && listRequests(simulator).length).toBe(2);
    abort.abort();
    expect((await error).code).toBe('ABORTED');
    expect(listRequests(simulator)).toHaveLength(2);
  });
});
