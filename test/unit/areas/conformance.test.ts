import { describe, expect, it } from 'vitest';
import type { ConformanceProfile } from '../../../src/conformance';
import type { RawReply, RawRequest } from '../../../src/model/raw-exchange';
import { toReadOnlyConnection } from '../../../src/run/raw-exchange';
import { expectFailure, listRequests, listWriteLines, startSimulatorWithGateway } from '../../helpers/simulated-appliance';

const FAST = { rate: 1000 };

describe('system.conformance', () => {
  it('system.conformance reports what changed since the profile of an earlier check', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { profile } = (await gateway.run('system.conformance', FAST)).data as { profile: ConformanceProfile };
    expect(listWriteLines(simulator)).toEqual([]);
    const stored: unknown = JSON.parse(JSON.stringify(profile));
    expect((await gateway.run('system.conformance', { ...FAST, previous: stored })).data).toMatchObject({ differences: [] });
    simulator.state.system.release = '25.2R1';
    Object.assign(simulator.state.variants, { wrongMethodStatus: 405, isLastRecord: 'absent' });
    const { data, envelope } = await gateway.run('system.conformance', { ...FAST, previous: stored });
    expect(envelope['text']).toBe(
      [
        'release, value: 25.1R3.1 → 25.2R1',
        'variant wrongMethodStatus, value: 400 → 405',
        'variant isLastRecord, value: inside → absent',
        'GET /api/v1/license/license-client-lease-state, status: 400 → 405',
        'GET /api/v1/system/maintenance/export-xml, status: 400 → 405',
        'GET /api/v1/auth (none), status: 400 → 405',
        'GET /api/v1/system/active-users, active-users/is-last-record: boolean → nothing',
        'GET /api/v1/system/active-users?name=*, active-users/is-last-record: boolean → nothing',
        'GET /api/v1/system/active-users?name=part, active-users/is-last-record: boolean → nothing',
        'GET /api/v1/system/active-users?name=nobody, active-users/is-last-record: boolean → nothing',
        'GET /api/v1/system/active-users?name=own, active-users/is-last-record: boolean → nothing',
      ].join('\n'),
    );
    expect(envelope).toMatchObject({ ok: true, changed: null, summary: expect.stringMatching(/^Checked how .* answers\.$/) as string });
    expect((data as { differences: unknown[] }).differences[0]).toEqual({
      subject: 'release',
      part: 'value',
      before: '25.1R3.1',
      after: '25.2R1',
    });
  });

  it('system.conformance refuses an unreadable previous profile, and sends nothing', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const cases = [{}, { format: 'gateway-profile/2' }, { format: 'gateway-profile/1', variants: {}, endpoints: [7] }];
    for (const previous of cases) {
      const error = await expectFailure(gateway.run('system.conformance', { ...FAST, previous }));
      expect(error.code).toBe('BAD_INPUT');
    }
    expect(listRequests(simulator)).toEqual([]);
  });

  it('system.conformance fails with the error of a read if the appliance cannot be used', async () => {
    const { gateway } = await startSimulatorWithGateway({}, { password: 'wrong' });
    expect((await expectFailure(gateway.run('system.conformance', FAST))).code).toBe('LOGIN_REJECTED');
  });

  it('system.conformance sends no write with a valid key', async () => {
    const sent: string[] = [];
    const send = ({ method }: RawRequest): Promise<RawReply> => {
      sent.push(method);
      return Promise.resolve({ status: 200, contentType: '', etag: undefined, text: '', bytes: 0, ms: 0 });
    };
    const connection = toReadOnlyConnection({ send, opened: 0, clockOffsetSeconds: undefined });
    await connection.send({ method: 'GET', path: '/' });
    await connection.send({ method: 'POST', path: '/', credentials: 'none' });
    const error = await expectFailure(connection.send({ method: 'DELETE', path: '/api/v1/system/active-users?all' }));
    expect(error.code).toBe('BAD_INPUT');
    expect(sent).toEqual(['GET', 'POST']);
  });
});
