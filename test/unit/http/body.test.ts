import { describe, expect, it, vi } from 'vitest';
import { ResponseBody } from '../../../src/http/response-body';
import {
  MAX_RESPONSE_BYTES,
  MemoryReservation,
  createResponseTooLargeError,
  createResponseMemoryError,
} from '../../../src/http/response-memory';
import { createBadResponseError, parseObject } from '../../../src/http/parse-object';
import { safeMessage } from '../../../src/model/safe-message';
import { getThrownError } from '../../helpers/simulated-appliance';

/** Creates a body from this many chunks. */
function bodyOf(text: string, chunks = 3): ResponseBody {
  const bytes = Buffer.from(text);
  const body = new ResponseBody();
  const size = Math.ceil(bytes.length / chunks);
  for (let at = 0; at < bytes.length; at += size) body.add(bytes.subarray(at, at + size));
  return body;
}

const page = (name: string, bytes: number): string => JSON.stringify({ name, rest: 'x'.repeat(bytes) });

describe('ResponseBody', () => {
  it.each([1, 2, 7])('ResponseBody returns bytes, text and JSON from %i chunks', (chunks) => {
    for (const size of [0, 10, 32_000, 70_000, 300_000, 1_100_000]) {
      const text = page('山田 Müller', size);
      const body = bodyOf(text, chunks);
      expect(body.bytes().equals(Buffer.from(text))).toBe(true);
      expect(body.text()).toBe(text);
      expect(body.json()).toEqual(JSON.parse(text));
      expect(bodyOf(text, chunks).json()).toEqual(JSON.parse(text));
    }
  });

  it('ResponseBody is empty when no chunk arrived', () => {
    expect(new ResponseBody().text()).toBe('');
    expect(new ResponseBody().bytes()).toHaveLength(0);
    expect(() => new ResponseBody().json()).toThrow(SyntaxError);
  });

  it('ResponseBody ignores a byte order mark', () => {
    expect(bodyOf('\ufeff{"a":1}', 1).json()).toEqual({ a: 1 });
    expect(bodyOf(`\ufeff${page('ü', 100_000)}`).json()).toMatchObject({ name: 'ü' });
  });

  it('ResponseBody decodes its bytes only once', () => {
    const body = bodyOf(page('ü', 150_000));
    body.text();
    const spy = vi.spyOn(Buffer.prototype, 'toString');
    expect(body.json()).toMatchObject({ name: 'ü' });
    expect(spy).not.toHaveBeenCalled();
    spy.mockRestore();
  });
});

describe('parseObject', () => {
  const parsed = (text: string) => parseObject({ status: 207, contentType: '', body: bodyOf(text, 1) });

  it('parseObject returns an object, or describes what else it got', () => {
    expect(parsed('{"a":1}')).toEqual({ a: 1 });
    const odd = 'The appliance answered something unreadable or truncated instead of JSON (status 207).';
    const html = 'The appliance answered a page of HTML instead of JSON (status 207).';
    for (const [text, message] of [
      ['', 'The appliance answered nothing instead of JSON (status 207).'],
      [' \n', 'The appliance answered nothing instead of JSON (status 207).'],
      ['<!DOCTYPE html><p>', html],
      [' <HTML>', html],
      ['<p><html>', odd],
      ['{"a":', odd],
      ['[]', 'The appliance answered JSON that is not an object (status 207).'],
      ['null', 'The appliance answered JSON that is not an object (status 207).'],
    ] as const)
      expect(
        getThrownError(() => parsed(text)),
        text,
      ).toMatchObject({ code: 'BAD_RESPONSE', message, details: { status: 207, sent: true } });
    expect(createBadResponseError({ status: 200, contentType: '', body: new ResponseBody() }, safeMessage`Odd.`)).toMatchObject({
      message: 'Odd.',
      details: { status: 200, sent: true },
    });
  });
});

it('the memory limit covers all responses together, and finished responses free their memory', () => {
  const MIB = 1 << 20;
  const [one, other] = [new MemoryReservation(), new MemoryReservation()];
  expect([one.tryReserve(40 * MIB), other.tryReserve(24 * MIB), other.tryReserve(1)]).toEqual([true, true, false]);
  other.release();
  other.release();
  expect([one.tryReserve(24 * MIB), other.tryReserve(1)]).toEqual([true, false]);
  one.release();
  expect([other.tryReserve(64 * MIB), one.tryReserve(1)]).toEqual([true, false]);
  other.release();
  expect(MAX_RESPONSE_BYTES).toBe(32 * MIB);
  expect(createResponseTooLargeError('vpn')).toMatchObject({
    code: 'LIMIT',
    message: 'The answer of vpn is larger than 32 MiB. Ask for a smaller part of it, or export it to a file.',
    details: { sent: true },
  });
  expect(createResponseMemoryError('vpn').message).toBe(
    'With the answer of vpn, this process would hold more than 64 MiB of answers. Run fewer requests at the same time.',
  );
});
