import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src';
import { identityOf, plain } from '../nodes/order';
import { failed, kept, withoutAddress } from '../worker/outcome';
import { outcomeOf } from '../worker/tasks';

const ODD = ['a\0b', 'half \ud83d of one', '\udc00'];
const fault = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (thrown) {
    return thrown;
  }
};

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

  it('is of a flow what its message says, however its error is written', () => {
    expect(outcomeOf({ payload: 1, error: null })).toEqual({ state: 'ok', changed: null, data: 1 });
    expect(outcomeOf({ payload: 1, error: 'refused' })).toEqual({ state: 'failed', changed: null, code: 'REJECTED', message: 'refused' });
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
