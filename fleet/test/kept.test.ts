import { afterEach, describe, expect, it, vi } from 'vitest';
import { GatewayError } from '../../src';
import { Moment } from '../ledger/moment';
import { identityOf, plain } from '../nodes/order';
import { failed, kept, succeeded, withoutAddress } from '../worker/outcome';
import { outcomeOf } from '../worker/tasks';

const ODD = ['a\0b', 'half \ud83d of one', '\udc00'];
const fault = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (thrown) {
    return thrown;
  }
};

describe('a moment', () => {
  afterEach(() => void vi.restoreAllMocks());

  it.each([
    ['the machine slept', 0, 5000, 5000],
    ['the clock was set back', 5000, -3_600_000, 5000],
    ['nothing happened', 5000, 5000, 5000],
  ])('was so long ago as the later of two clocks says: %s', (_what, steady, wall, ago) => {
    const clocks = [vi.spyOn(performance, 'now').mockReturnValue(100), vi.spyOn(Date, 'now').mockReturnValue(1e12)];
    const moment = new Moment();
    clocks[0]?.mockReturnValue(100 + steady);
    clocks[1]?.mockReturnValue(1e12 + wall);
    expect(moment.ago).toBe(ago);
  });
});

describe('an order', () => {
  it('takes no name and no input that a table would keep as another one', () => {
    for (const odd of ODD) {
      expect(fault(() => identityOf(odd, () => 'fresh'))).toMatchObject({ code: 'BAD_INPUT' });
      for (const input of [{ body: { description: odd } }, { [odd]: 1 }])
        expect(fault(() => plain(input))).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('U+0000') as string });
    }
    const fine = { text: '\\u0000 \\\\ud800 😀 \n\u0001', list: ['ä'] };
    expect(plain(fine)).toEqual(fine);
    expect(identityOf('nightly 😀', () => 'fresh')).toBe('nightly 😀');
  });
});

describe('what is kept of an outcome', () => {
  it('names an appliance in place of its address, whatever it is called', () => {
    const clean = withoutAddress("$& $' $1 a", 'https://VPN.example.com:8443/gate');
    expect(clean('at https://VPN.example.com:8443/gate, https://vpn.example.com:8443, vpn.example.com:8443 and vpn.example.com')).toBe(
      "at $& $' $1 a, $& $' $1 a, $& $' $1 a and $& $' $1 a",
    );
    expect(withoutAddress('vpn', undefined)('as it is')).toBe('as it is');
  });

  it('is of a failure its code and its words, at most 500 characters of them', () => {
    const thrown = new GatewayError('CONFLICT', 'x'.repeat(501), { sent: false });
    expect(failed(thrown, String)).toEqual({ state: 'failed', changed: null, code: 'CONFLICT', message: `${'x'.repeat(500)}…` });
    expect(failed(new GatewayError('OUTCOME_UNKNOWN', 'y'.repeat(500)), String)).toMatchObject({
      state: 'unknown',
      message: 'y'.repeat(500),
    });
  });

  it('holds no address in the words of a failure, of the whole or of a part, and no secret in a plan', () => {
    const clean = withoutAddress('vpn', 'https://vpn.example.com');
    const thrown = new GatewayError('CONNECTION', 'vpn.example.com refused the connection.', { sent: false });
    expect(failed(thrown, clean)).toMatchObject({ message: 'vpn refused the connection.' });
    const item = { item: 'a', ok: false, error: { code: 'NOT_FOUND', message: 'It is not at vpn.example.com.' } } as const;
    const plan = [{ method: 'PUT', path: '/a', body: { password: 'planted' } }];
    const outcome = {
      data: { a: 1 },
      many: { total: 2, ok: 1, failed: 1, results: [item] },
      envelope: { changed: true, plan, requests: 3, retries: 2, logins: 1 },
    };
    const parts = { changed: true, requests: 3, retries: 2, logins: 1, plan: [{ ...plan[0], body: { password: '••••' } }] };
    const failure = { state: 'failed', code: 'NOT_FOUND', message: '1 of 2 failed: It is not at vpn.' };
    expect(succeeded(outcome, false, clean)).toEqual({ ...parts, ...failure });
    expect(succeeded({ ...outcome, many: null }, true, clean)).toEqual({ ...parts, state: 'ok', data: { a: 1 } });
  });

  it('is of a flow what its message says, however its error is written', () => {
    expect(outcomeOf({ payload: 1, error: null })).toEqual({ state: 'ok', changed: null, data: 1 });
    expect(outcomeOf({ payload: 1, error: 'refused' })).toEqual({ state: 'failed', changed: null, code: 'REJECTED', message: 'refused' });
    expect(outcomeOf({ error: 'x'.repeat(600) }).message).toHaveLength(501);
    expect(outcomeOf({ error: 'planted is wrong', payload: { password: 'planted' } })).toMatchObject({ message: '•••• is wrong' });
    const error = { message: 'no', code: 'E'.repeat(50) };
    expect(outcomeOf({ error })).toMatchObject({ code: 'E'.repeat(40), message: 'no' });
    for (const odd of [0, false, { message: 5 }, []]) expect(outcomeOf({ error: odd })).toMatchObject({ message: 'The flow failed.' });
  });

  it('is of data no export, no bytes and nothing that holds itself', () => {
    expect(kept(' \n<configuration/>ä')).toEqual({ bytes: 20 });
    const bytes = { bytes: 3 };
    expect(kept({ file: Buffer.from('abc'), all: [Buffer.from('abc')] })).toEqual({ file: bytes, all: [bytes] });
    const round: Record<string, unknown> = {};
    round['self'] = round;
    expect(kept(round)).toBeUndefined();
    expect(kept(undefined)).toBeUndefined();
    expect(kept({ password: 'abcdef', said: 'it was abcdef' })).toEqual({ password: '••••', said: 'it was ••••' });
  });
});
