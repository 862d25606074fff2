import parse from 'parse-prometheus-text-format';
import { expect } from 'vitest';
import { TOKEN } from '../../scripts/demo/start.mjs';
import { inject, type Outcomes } from './running';

const USER = 'somebody.else';

/** Containment and metrics. */
export const response: Outcomes = {
  'Contain from a SIEM webhook, release by approval.json': async (running, example) => {
    const { nodeRed, simulator, debug } = running;
    const { sessions, configuration } = simulator.state;
    const call = async (body: unknown, token = TOKEN): Promise<{ status: number; body: Record<string, unknown> }> => {
      const headers = { 'content-type': 'application/json', 'x-webhook-token': token };
      const answer = await fetch(`${nodeRed.url}/contain`, { method: 'POST', headers, body: JSON.stringify(body) });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const users = configuration.collection('authentication', 'auth-servers', 'auth-server', 'System Local', 'local', 'users', 'user');
    users.add({ username: USER, 'password-cleartext': 'x', enabled: 'true' });
    const isEnabled = (): string | undefined => users.items.get(USER)?.text('enabled');
    const first = sessions.add({ 'active-user-name': USER });

    expect(await call({ user: USER }, 'wrong')).toMatchObject({ status: 401 });
    expect(await call({ user: '' })).toMatchObject({ status: 400, body: { code: 'BAD_INPUT' } });
    expect(await debug.next('Why it failed')).toMatch(/\w.*\.$/);
    expect([sessions.has(first), isEnabled()]).toEqual([true, 'true']);

    expect(await call({ user: USER })).toMatchObject({ status: 200, body: { message: expect.stringContaining('Sessions ended: 1, accounts disabled: 1.') as string } });
    expect([sessions.has(first), isEnabled()]).toEqual([false, 'false']);
    const again = sessions.add({ 'active-user-name': USER });
    expect(await debug.next('Ended again', 30_000)).toMatch(new RegExp(`^Ended the new session of ${USER} from \\S+\\.$`));
    expect(sessions.has(again)).toBe(false);

    await inject(running, example, 'Click: release j.doe', { name: USER });
    expect(await debug.next('To approve')).toMatch(new RegExp(`^Would release ${USER} at \\S+ with one request\\.$`));
    await inject(running, example, 'Click: reject');
    expect(await debug.next('Why it failed')).toMatch(/^The change was declined/);
    expect(isEnabled()).toBe('false');

    await inject(running, example, 'Click: release j.doe', { name: USER });
    await debug.next('To approve');
    await inject(running, example, 'Click: approve');
    expect(await debug.next('Released')).toMatch(new RegExp(`^Released ${USER} at \\S.*; accounts enabled: 1\\.$`));
    expect(isEnabled()).toBe('true');
    users.items.delete(USER);
  },

  'Metrics for Prometheus.json': async (running, example) => {
    const { nodeRed, debug, simulator } = running;
    const answer = await fetch(`${nodeRed.url}/gateway-metrics`);
    expect(answer.status).toBe(200);
    // The parameters can be in any order.
    expect(answer.headers.get('content-type')?.split('; ').sort()).toEqual([
      'application/openmetrics-text',
      'charset=utf-8',
      'version=1.0.0',
    ]);
    const families = new Map(parse(await answer.text()).map((family) => [family.name, family.metrics]));
    expect(families.get('gateway_up')).toMatchObject([{ value: '1', labels: { appliance: 'vpn-1' } }]);
    const counted = (families.get('gateway_sessions') ?? []).reduce((sum, { value }) => sum + Number(value), 0);
    expect(counted).toBe(simulator.state.sessions.count);
    await inject(running, example, 'Click: see what Prometheus would get');
    expect(await debug.next('Metrics')).toContain('gateway_up{appliance="vpn-1"} 1');
  },
};
