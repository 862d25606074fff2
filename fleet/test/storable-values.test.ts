import { afterEach, describe, expect, it, vi } from 'vitest';
import { GatewayError } from '../../src';
import { ElapsedTime } from '../store/elapsed-time';
import { readRunId, toPlainInput } from '../nodes/run-request';
import { toFailureOutcome, toStorableData, toSuccessOutcome, createAddressRedactor } from '../worker/item-outcome';
import { toFleetTaskOutcome } from '../worker/task-runner';

const ODD = ['a\0b', 'half \ud83d of one', '\udc00'];
const fault = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (thrown) {
    return thrown;
  }
};

describe('ElapsedTime', () => {
  afterEach(() => void vi.restoreAllMocks());

  it.each([
    ['the machine slept', 0, 5000, 5000],
    ['the clock was set back', 5000, -3_600_000, 5000],
    ['nothing happened', 5000, 5000, 5000],
  ])('ElapsedTime returns the longer of the times that the two clocks show when %s', (_what, steady, wall, ago) => {
    const clocks = [vi.spyOn(performance, 'now').mockReturnValue(100), vi.spyOn(Date, 'now').mockReturnValue(1e12)];
    const moment = new ElapsedTime();
    clocks[0]?.mockReturnValue(100 + steady);
    clocks[1]?.mockReturnValue(1e12 + wall);
    expect(moment.ms).toBe(ago);
  });
});

describe('run request', () => {
  it('a run rejects names and inputs with characters that PostgreSQL cannot store', () => {
    for (const odd of ODD) {
      expect(fault(() => readRunId(odd, () => 'fresh'))).toMatchObject({ code: 'BAD_INPUT' });
      for (const input of [{ body: { description: odd } }, { [odd]: 1 }])
        expect(fault(() => toPlainInput(input))).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('U+0000') as string });
    }
    const fine = { text: '\\u0000 \\\\ud800 😀 \n\u0001', list: ['ä'] };
    expect(toPlainInput(fine)).toEqual(fine);
    expect(readRunId('nightly 😀', () => 'fresh')).toBe('nightly 😀');
  });
});

describe('item outcome', () => {
  it('an item outcome has the appliance name in place of each address, even if the name contains replacement patterns', () => {
    const clean = createAddressRedactor("$& $' $1 a", 'https://VPN.example.com:8443/gate');
    expect(clean('at https://VPN.example.com:8443/gate, https://vpn.example.com:8443, vpn.example.com:8443 and vpn.example.com')).toBe(
      "at $& $' $1 a, $& $' $1 a, $& $' $1 a and $& $' $1 a",
    );
    expect(createAddressRedactor('vpn', undefined)('as it is')).toBe('as it is');
  });

  it('an item outcome stores the error code and at most 500 characters of the error message', () => {
    const thrown = new GatewayError('CONFLICT', 'x'.repeat(501), { sent: false });
    expect(toFailureOutcome(thrown, String)).toEqual({ state: 'failed', changed: null, code: 'CONFLICT', message: `${'x'.repeat(500)}…` });
    expect(toFailureOutcome(new GatewayError('OUTCOME_UNKNOWN', 'y'.repeat(500)), String)).toMatchObject({
      state: 'unknown',
      message: 'y'.repeat(500),
    });
  });

  it('an item outcome contains no address in error messages and no secret in plans', () => {
    const clean = createAddressRedactor('vpn', 'https://vpn.example.com');
    const thrown = new GatewayError('CONNECTION', 'vpn.example.com refused the connection.', { sent: false });
    expect(toFailureOutcome(thrown, clean)).toMatchObject({ message: 'vpn refused the connection.' });
    const item = { item: 'a', ok: false, error: { code: 'NOT_FOUND', message: 'It is not at vpn.example.com.' } } as const;
    const plan = [{ method: 'PUT', path: '/a', body: { password: 'planted' } }];
    const outcome = {
      data: { a: 1 },
      many: { total: 2, ok: 1, failed: 1, results: [item] },
      envelope: { changed: true, plan, requests: 3, retries: 2, logins: 1 },
    };
    const parts = { changed: true, requests: 3, retries: 2, logins: 1, plan: [{ ...plan[0], body: { password: '••••' } }] };
    const failure = { state: 'failed', code: 'NOT_FOUND', message: '1 of 2 failed: It is not at vpn.' };
    expect(toSuccessOutcome(outcome, false, clean)).toEqual({ ...parts, ...failure });
    expect(toSuccessOutcome({ ...outcome, many: null }, true, clean)).toEqual({ ...parts, state: 'ok', data: { a: 1 } });
  });

  it('an item outcome is read from the message of a flow, whatever the form of its error', () => {
    expect(toFleetTaskOutcome({ payload: 1, error: null })).toEqual({ state: 'ok', changed: null, data: 1 });
    expect(toFleetTaskOutcome({ payload: 1, error: 'refused' })).toEqual({
      state: 'failed',
      changed: null,
      code: 'REJECTED',
      message: 'refused',
    });
    expect(toFleetTaskOutcome({ error: 'x'.repeat(600) }).message).toHaveLength(501);
    expect(toFleetTaskOutcome({ error: 'planted is wrong', payload: { password: 'planted' } })).toMatchObject({ message: '•••• is wrong' });
    const error = { message: 'no', code: 'E'.repeat(50) };
    expect(toFleetTaskOutcome({ error })).toMatchObject({ code: 'E'.repeat(40), message: 'no' });
    for (const odd of [0, false, { message: 5 }, []])
      expect(toFleetTaskOutcome({ error: odd })).toMatchObject({ message: 'The flow failed.' });
  });

  it('a task outcome stores only the size of XML and binary data, and no circular data or secrets', () => {
    expect(toStorableData(' \n<configuration/>ä')).toEqual({ bytes: 20 });
    const bytes = { bytes: 3 };
    expect(toStorableData({ file: Buffer.from('abc'), all: [Buffer.from('abc')] })).toEqual({ file: bytes, all: [bytes] });
    const round: Record<string, unknown> = {};
    round['self'] = round;
    expect(toStorableData(round)).toBeUndefined();
    expect(toStorableData(undefined)).toBeUndefined();
    expect(toStorableData({ password: 'abcdef', said: 'it was abcdef' })).toEqual({ password: '••••', said: 'it was ••••' });
  });
});
