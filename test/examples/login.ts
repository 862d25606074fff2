import { expect } from 'vitest';
import { CODE } from '../../scripts/demo/start.mjs';
import { inject, type Outcomes } from './running';

/** The login that a person completes. */
export const login: Outcomes = {
  'Log in with a code.json': async (running, example) => {
    const { debug, nodeRed, second } = running;
    const tick = 'Every five minutes';
    const page = `${nodeRed.url}/gateway-login`;
    const form = async (values?: Record<string, string>): Promise<{ status: number; text: string; id: string }> => {
      const response = await fetch(page, values && { method: 'POST', body: new URLSearchParams(values) });
      const text = await response.text();
      return { status: response.status, text, id: /name="resumeId" value="(\w+)"/.exec(text)?.[1] ?? '' };
    };

    await inject(running, example, tick);
    expect(await debug.next('Somebody has to log in')).toContain('Open /gateway-login.');
    expect((await form()).text).toContain('Ask for a code');
    // Neither a running flow nor an open page causes a login.
    expect(second?.requests).toEqual([]);

    const asked = await form({});
    expect([asked.status, asked.id]).toEqual([200, expect.stringMatching(/./)]);
    expect((await form({})).id).toBe(asked.id);
    expect(second?.logins).toBe(1);
    await inject(running, example, tick);
    expect(await debug.next('Somebody has to log in')).toContain('waits for a code');
    const done = await form({ resumeId: asked.id, code: CODE });
    expect([done.status, done.text]).toEqual([200, expect.stringContaining('Logged in')]);
    // The waiting message continues by itself, once.
    expect(await debug.next('System')).toMatchObject({ 'system-information': { 'host-name': 'gateway-2' } });
    await inject(running, example, tick);
    await debug.next('System');
    expect(second?.requests.filter(({ path }) => path.endsWith('system-information'))).toHaveLength(2);

    second?.expireKeys();
    await inject(running, example, tick);
    await debug.next('Somebody has to log in');
    const again = await form({});
    const wrong = await form({ resumeId: again.id, code: '000000' });
    expect([wrong.status, wrong.text]).toEqual([400, expect.stringContaining('refused the login')]);
    expect(wrong.text).toContain('Ask for a code');
    expect((await form({ resumeId: again.id, code: CODE })).text).toContain('not sent twice');
    // Accounts lock: the next login has to wait.
    expect((await form({})).text).toMatch(/no login is tried/i);
    expect(second?.logins).toBe(2);
  },
};
