import { expect } from 'vitest';
import { failure, inject, writes, type Outcomes, type Running } from './running';

const FILE = 'Approve a change on a page.json';

/** Presses a button of the page, as a browser would. */
async function decide({ nodeRed }: Running, id: string, decision: string): Promise<void> {
  const response = await fetch(`${nodeRed.url}/approvals`, {
    method: 'POST',
    redirect: 'manual',
    headers: { authorization: `Basic ${Buffer.from('a.boss:secret').toString('base64')}` },
    body: new URLSearchParams({ id, decision }),
  });
  expect([response.status, response.headers.get('location')]).toEqual([303, 'approvals']);
}

/** The ID of the plan that the page offers to approve. */
export const findPlanId = (page: string): string => /name="id" value="([^"]+)"/.exec(page)?.[1] ?? '';

/** Changes that wait for a person. */
export const approval: Outcomes = {
  [FILE]: async (running) => {
    const { debug, simulator, nodeRed } = running;
    const { sessions } = simulator.state;
    const page = async (): Promise<string> => (await fetch(`${nodeRed.url}/approvals`)).text();
    const ask = async (user: string): Promise<string> => {
      await inject(running, FILE, 'Click: end sessions', { user });
      expect(await debug.next('To approve')).toMatch(/^Would end \d+ sessions? of/);
      return findPlanId(await page());
    };
    expect(await page()).toContain('Nothing waits.');
    const before = writes(running).length;
    const user = 'waits <b>here</b>';
    const [first, second] = [1, 2].map(() => sessions.add({ 'active-user-name': user })) as [string, string];
    const plan = await ask(user);
    const shown = await page();
    expect(shown).toContain('asked for by night shift');
    expect(shown).toContain('waits &lt;b&gt;here&lt;');
    expect(shown.match(/DELETE /g)).toHaveLength(2);
    expect(writes(running)).toHaveLength(before);

    await decide(running, 'forged', 'approve');
    sessions.end(first);
    const later = sessions.add({ 'active-user-name': user });
    await decide(running, plan, 'approve');
    expect(await debug.next('Done')).toBe(`Ended 1 of 1 sessions of ${user}.`);
    expect([sessions.has(second), sessions.has(later)]).toEqual([false, true]);
    expect(writes(running)).toHaveLength(before + 1);
    expect(await page()).toContain('Nothing waits.');

    await decide(running, await ask(user), 'reject');
    expect(await failure(running)).toContain('declined by a.boss');
    expect(sessions.has(later)).toBe(true);
    sessions.end(later);
  },
};
