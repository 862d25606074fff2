import { describe, expect, it, vi } from 'vitest';
import { Body } from '../src/http/body';

/** A body of so many bytes that came in so many chunks, each overwritten once it was taken, as the place that sockets are read into is. */
function bodyOf(text: string, { chunks = 3, told = true } = {}): Body {
  const bytes = Buffer.from(text);
  const body = new Body();
  if (told) body.total = bytes.length;
  const size = Math.ceil(bytes.length / chunks);
  for (let at = 0; at < bytes.length; at += size) {
    const chunk = Buffer.from(bytes.subarray(at, at + size));
    body.add(chunk);
    chunk.fill(0x3f);
  }
  return body;
}

const page = (name: string, bytes: number): string => JSON.stringify({ name, rest: 'x'.repeat(bytes) });

describe('the body of an answer', () => {
  const sizes = [0, 10, 32_000, 70_000, 180_000, 262_100, 262_144, 300_000, 1_100_000];
  const ways = [1, 2, 7].flatMap((chunks) => [true, false].map((told) => ({ chunks, told })));

  it.each(ways)('is read as text and as JSON, $chunks chunks, length told: $told', (way) => {
    for (const size of sizes) {
      const text = page('山田 Müller', size);
      const body = bodyOf(text, way);
      expect(body.text()).toBe(text);
      expect(body.json()).toEqual(JSON.parse(text));
      expect(bodyOf(text, way).json()).toEqual(JSON.parse(text));
    }
  });

  it('is nothing when nothing came', () => {
    expect(new Body().text()).toBe('');
    expect(() => new Body().json()).toThrow(SyntaxError);
  });

  it('passes over a byte order mark', () => {
    expect(bodyOf('\ufeff{"a":1}', { chunks: 1 }).json()).toEqual({ a: 1 });
    expect(bodyOf(`\ufeff${page('ü', 100_000)}`).json()).toMatchObject({ name: 'ü' });
  });

  it('gives its place to later ones, and none gets that of one that is still read', () => {
    const held = Array.from({ length: 20 }, (_, index) => bodyOf(page(`held ${index}`, 150_000 + index)));
    for (let round = 0; round < 50; round++) {
      const some = Array.from({ length: 12 }, (_, index) => [index, bodyOf(page(`ü ${round}/${index}`, 100_000 + 9_000 * index))] as const);
      for (const [index, body] of some) {
        const document = body.json();
        body.release();
        // Released twice, a place must not be handed out twice.
        body.release();
        expect(document).toEqual({ name: `ü ${round}/${index}`, rest: 'x'.repeat(100_000 + 9_000 * index) });
        expect(body.text()).toBe('');
      }
    }
    for (const [index, body] of held.entries()) expect(body.json()).toMatchObject({ name: `held ${index}` });
  });

  /** How many places were made meanwhile. */
  function placesMade(work: () => void): number {
    const spy = vi.spyOn(Buffer, 'allocUnsafeSlow');
    try {
      work();
      return spy.mock.calls.filter(([bytes]) => bytes === 256 * 1024).length;
    } finally {
      spy.mockRestore();
    }
  }

  it('makes no new places as long as there are used ones, and keeps eight of them', () => {
    const some = (count: number): Body[] => Array.from({ length: count }, () => bodyOf(page('ü', 150_000)));
    for (const body of some(30)) body.release();
    expect(placesMade(() => some(1)[0]?.release())).toBe(0);
    let held: Body[] = [];
    expect(placesMade(() => (held = some(20)))).toBe(12);
    for (const body of held) body.release();
  });

  it('gives back a place that it outgrew', () => {
    const longer = (): void => bodyOf(page('ü', 400_000), { chunks: 20, told: false }).release();
    longer();
    expect(placesMade(longer)).toBe(0);
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
