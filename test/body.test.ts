import { describe, expect, it, vi } from 'vitest';
import { Body } from '../src/http/body';

/** A body that came in so many chunks. */
function bodyOf(text: string, chunks = 3): Body {
  const bytes = Buffer.from(text);
  const body = new Body();
  const size = Math.ceil(bytes.length / chunks);
  for (let at = 0; at < bytes.length; at += size) body.add(bytes.subarray(at, at + size));
  return body;
}

const page = (name: string, bytes: number): string => JSON.stringify({ name, rest: 'x'.repeat(bytes) });

describe('the body of an answer', () => {
  it.each([1, 2, 7])('is read as bytes, text and JSON, %i chunks', (chunks) => {
    for (const size of [0, 10, 32_000, 70_000, 300_000, 1_100_000]) {
      const text = page('山田 Müller', size);
      const body = bodyOf(text, chunks);
      expect(body.bytes().equals(Buffer.from(text))).toBe(true);
      expect(body.text()).toBe(text);
      expect(body.json()).toEqual(JSON.parse(text));
      expect(bodyOf(text, chunks).json()).toEqual(JSON.parse(text));
    }
  });

  it('is nothing when nothing came', () => {
    expect(new Body().text()).toBe('');
    expect(new Body().bytes()).toHaveLength(0);
    expect(() => new Body().json()).toThrow(SyntaxError);
  });

  it('passes over a byte order mark', () => {
    expect(bodyOf('\ufeff{"a":1}', 1).json()).toEqual({ a: 1 });
    expect(bodyOf(`\ufeff${page('ü', 100_000)}`).json()).toMatchObject({ name: 'ü' });
  });

  it('is decoded once, however it is read', () => {
    const body = bodyOf(page('ü', 150_000));
    body.text();
    const spy = vi.spyOn(Buffer.prototype, 'toString');
    expect(body.json()).toMatchObject({ name: 'ü' });
    expect(spy).not.toHaveBeenCalled();
    spy.mockRestore();
  });
});
