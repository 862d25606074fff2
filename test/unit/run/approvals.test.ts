import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { LightAbortController } from '../../../src/model/abort';
import { GatewayError } from '../../../src/model/error';
import { Approval, type Proposal } from '../../../src/run/approval';
import { PendingApprovals } from '../../../src/run/pending-approvals';
import type { PendingWrite } from '../../../src/run/pending-write';
import { getThrownError } from '../../helpers/simulated-appliance';

const APPROVED = { by: 'a.boss', at: '2026-11-21T08:00:00.000Z' };
const put = (path: string, body: object): PendingWrite => ({ request: { method: 'PUT', path, body } }) as unknown as PendingWrite;
const proposed = (count: number, more: object = {}): Proposal => ({ plan: Array<object>(count).fill({}), ...more }) as unknown as Proposal;

describe('An approval', () => {
  /** Approves what the first plan has, and gives the gate. */
  async function approved(planned: readonly PendingWrite[]): Promise<Approval> {
    const approval = new Approval(() => Promise.resolve(APPROVED));
    await approval.obtain(
      async (gate) => {
        for (const write of planned) await gate.assertAllowed(write);
        return proposed(planned.length);
      },
      undefined,
      () => undefined,
    );
    return approval;
  }

  it('An approval allows each write as often as the plan contains it', async () => {
    const twice = put('/a', { x: 1 });
    const gate = await approved([twice, twice, put('/b', {})]);
    await gate.assertAllowed(twice);
    await gate.assertAllowed(twice);
    await expect(gate.assertAllowed(twice)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(
        /^This write was not approved: PUT \/a is not in the approved plan.* Send the message again/,
      ) as string,
      details: { sent: false, extra: { beyond: { method: 'PUT', path: '/a' } } },
    });
    await gate.assertAllowed(put('/b', {}));
    await expect(gate.assertAllowed(put('/b', { y: 1 }))).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(gate.isAllowed({ method: 'DELETE', path: '/a' })).toBe(false);
  });

  it('An approval covers a write with keys in another order, but not one with list items in another order', async () => {
    const gate = await approved([put('/a', { x: 1, y: { b: 1, a: 2 }, c: [1, 2], d: 0 })]);
    await expect(gate.assertAllowed(put('/a', { x: 1, y: { b: 1, a: 2 }, c: [2, 1], d: 0 }))).rejects.toMatchObject({ code: 'CONFLICT' });
    await gate.assertAllowed(put('/a', { d: 0, c: [1, 2], y: { a: 2, b: 1 }, x: 1 }));
  });

  it('An approval is requested for a plan without requests only if the plan would change something', async () => {
    const asked: Proposal[] = [];
    for (const more of [{}, { wouldChange: false }, { wouldChange: true }]) {
      const approval = new Approval((proposal) => {
        asked.push(proposal);
        return Promise.resolve(APPROVED);
      });
      await approval.obtain(
        () => Promise.resolve(proposed(0, more)),
        undefined,
        () => undefined,
      );
    }
    expect(asked).toEqual([proposed(0, { wouldChange: true })]);
  });

  it('An approval that is canceled fails and says that nothing was changed', async () => {
    const stop = new LightAbortController();
    const approval = new Approval(() => {
      stop.abort();
      return new Promise(() => undefined);
    });
    await expect(
      approval.obtain(
        () => Promise.resolve(proposed(1)),
        stop,
        () => undefined,
      ),
    ).rejects.toMatchObject({
      code: 'ABORTED',
      message: 'Canceled while waiting for approval, or redeployed. Nothing was changed.',
    });
  });
});

describe('Pending approvals', () => {
  it('Pending approvals of all nodes use at most 64 MiB, which are freed after the decision', async () => {
    const [first, second] = [new PendingApprovals(60), new PendingApprovals(60)];
    const waiting = first.add(undefined, 40 * 2 ** 20);
    const refused = getThrownError(() => second.add(undefined, 30 * 2 ** 20));
    expect(refused?.code).toBe('LIMIT');
    expect(refused?.message).toMatch(/more than 64 MiB.*Nothing was changed\.$/);
    first.approve(waiting.id, 'x');
    await waiting.decision;
    const next = second.add(undefined, 30 * 2 ** 20);
    second.approve(next.id, 'x');
    await next.decision;
  });

  it('A decision that does not fit a pending approval is refused with the reason', () => {
    const approvals = new PendingApprovals(60);
    for (const id of ['', 17, undefined]) {
      expect(getThrownError(() => approvals.approve(id, 'x'))?.message).toBe(
        'msg.approve must be the id from the message that this node sent: a text.',
      );
      expect(getThrownError(() => approvals.reject(id, 'x'))?.message).toMatch(/^msg\.reject must be the id/);
    }
    expect(getThrownError(() => approvals.approve('forged', 'x'))?.message).toMatch(
      /^No plan waits for the id in msg\.approve\. .* Nothing was changed\.$/,
    );
    expect(getThrownError(() => approvals.reject('forged', 'x'))?.message).toMatch(/^No plan waits for the id in msg\.reject/);
  });

  it.each<[unknown, string | null, string]>([
    ['a.boss', 'a.boss', 'The change was declined by a.boss. Nothing was changed.'],
    ['', null, 'The change was declined. Nothing was changed.'],
    [{ name: 'no text' }, null, 'The change was declined. Nothing was changed.'],
    ['x'.repeat(300), 'x'.repeat(200), `The change was declined by ${'x'.repeat(200)}. Nothing was changed.`],
  ])('Pending approvals record the beginning of the name of the person who decided: %j', async (by, known, words) => {
    const approvals = new PendingApprovals(60, () => Date.parse('2026-11-21T08:00:00Z'));
    const [one, other] = [approvals.add(undefined), approvals.add(undefined)];
    approvals.approve(one.id, by);
    expect(await one.decision).toEqual({ by: known, at: '2026-11-21T08:00:00.000Z' });
    approvals.reject(other.id, by);
    await expect(other.decision).rejects.toMatchObject({ code: 'DECLINED', message: words, details: { sent: false } });
  });

  it('Pending approvals report that nothing was sent if they expire, are too many or have no recipient', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const approvals = new PendingApprovals(1);
    const { decision } = approvals.add(undefined);
    const expired = expect(decision).rejects.toMatchObject({
      code: 'EXPIRED',
      message: 'Nobody approved the change in time. Nothing was changed.',
      details: { sent: false },
    });
    await vi.advanceTimersByTimeAsync(59_999);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    await expired;
    for (let index = 0; index < 100; index++) approvals.add(undefined);
    const refusal = getThrownError(() => approvals.add(undefined));
    expect(refusal).toMatchObject({ code: 'LIMIT', details: { sent: false } });
    expect(refusal?.message).toBe('100 messages wait for approval already. Answer some of them first. Nothing was changed.');
    const stop = new LightAbortController();
    stop.abort();
    const cancelled = getThrownError(() => approvals.add(stop));
    expect(cancelled).toMatchObject({
      code: 'ABORTED',
      message: 'Canceled before the approval was requested.',
      details: { sent: false },
    });
  });

  it('Pending approvals expire on time if the system clock is set back, and change nothing if it is set ahead', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    let now = Date.parse('2026-11-21T08:00:00Z');
    const approvals = new PendingApprovals(1, () => now);
    const [back, ahead] = [approvals.add(undefined), approvals.add(undefined)];
    const expired = [back, ahead].map(({ decision }) => expect(decision).rejects.toMatchObject({ code: 'EXPIRED' }));
    now += 7_200_000;
    expect(getThrownError(() => approvals.approve(ahead.id, 'a.boss'))?.code).toBe('BAD_INPUT');
    now -= 86_400_000;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(getThrownError(() => approvals.approve(back.id, 'a.boss'))?.code).toBe('BAD_INPUT');
    await Promise.all(expired);
  });

  it('Pending approvals leave no timer and no listener after a decision or a cancellation', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const approvals = new PendingApprovals(60);
    const stop = new LightAbortController();
    const [removed, added] = [vi.spyOn(stop, 'removeEventListener'), vi.spyOn(stop, 'addEventListener')];
    const { id } = approvals.add(stop);
    approvals.add(stop);
    approvals.approve(id, 'x');
    expect(removed.mock.calls.map(([type]) => type)).toEqual(['abort']);
    expect(removed.mock.calls[0]?.[1]).toBe(added.mock.calls[0]?.[1]);
    stop.abort();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('Pending approvals fail only with a GatewayError', async () => {
    const { id, decision } = (() => {
      const approvals = new PendingApprovals(60);
      const held = approvals.add(undefined);
      approvals.reject(held.id, 'x');
      return held;
    })();
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    await expect(decision).rejects.toBeInstanceOf(GatewayError);
  });
});
