import { expect } from 'vitest';
import { post } from '../../scripts/demo/check.mjs';
import { TOKEN, USER } from '../../scripts/demo/start.mjs';
import type { FaultRule } from '../../src/simulator';
import { inject, type Outcomes } from './running';
import { eventually } from '../helpers/eventually';

/** Sessions, configuration and health. */
export const first: Outcomes = {
  'End sessions from a webhook.json': async ({ nodeRed, simulator }) => {
    const { state, requests } = simulator;
    const before = state.sessions.ids();
    const end = (user: unknown, token = TOKEN) => post(nodeRed.url, token, user);

    // Other flows, such as the health flow, send requests at any time.
    const asked = () => requests.filter(({ path }) => path.includes('/active-users?name=')).length;
    const sofar = asked();
    for (const token of ['', 'wrong', `${TOKEN} `.repeat(2)]) expect(await end(USER, token)).toMatchObject({ status: 401 });
    expect(asked()).toBe(sofar);

    for (const user of [undefined, '', null, { name: USER }, ['a', 'b'], true])
      expect(await end(user), JSON.stringify(user)).toMatchObject({ status: 400, body: { code: 'BAD_INPUT' } });
    expect(await end('nobody')).toMatchObject({
      status: 200,
      body: { message: 'nobody has no session.', ended: [], failed: [] },
    });
    expect(state.sessions.ids()).toEqual(before);

    for (let count = 0; count < 26; count++) state.sessions.add({ 'active-user-name': 'crowd' });
    expect(await end('crowd')).toMatchObject({ status: 409, body: { code: 'LIMIT', ended: [] } });
    expect(state.sessions.count).toBe(before.length + 26);

    simulator.fault({ match: ({ method }) => method === 'DELETE', status: 422, body: '{"result":{"errors":[{"message":"Not now."}]}}' });
    const part = await end(USER);
    expect(part).toMatchObject({ status: 502, body: { message: `Ended 2 of 3 sessions of ${USER}; 1 failed.` } });
    expect(part.body.ended).toHaveLength(2);
    expect(part.body.failed).toEqual([
      expect.objectContaining({ 'active-user-name': USER, reason: expect.stringContaining('Not now.') as string }),
    ]);

    simulator.fault({ match: ({ method }) => method === 'DELETE', status: 403 });
    expect(await end(USER)).toMatchObject({ status: 502, body: { code: 'FORBIDDEN', ended: [], failed: [{ 'active-user-name': USER }] } });
    expect(await end(USER)).toMatchObject({ status: 200, body: { message: `Ended 1 of 1 sessions of ${USER}.`, failed: [] } });
  },

  'List the sessions of a realm.json': async (running, example) => {
    const { sessions } = running.simulator.state;
    const records = sessions.findNumbers().map((index) => sessions.record(index));
    const expected = records.filter((record) => record['authentication-realm'] === 'Employees');
    await inject(running, example, 'Click: sessions of one realm');
    let rows: string[] = [];
    while (rows.length < expected.length) {
      const text = (await running.debug.next('Table')) as string;
      // The sidebar truncates longer messages.
      expect(text.length).toBeLessThan(1000);
      const [title, , header, ...lines] = text.split('\n');
      expect(title).toBe(`Employees, part ${rows.length / 20 + 1} of ${Math.ceil(expected.length / 20)}`);
      expect(header).toMatch(/^User +From$/);
      rows = [...rows, ...lines];
    }
    expect(rows.map((row) => row.split(/ {2,}/))).toEqual(expected.map((record) => [record['active-user-name'], record['source-ip']]));
  },

  'Change one field of the configuration.json': async (running, example) => {
    const role = running.simulator.state.configuration.collection('users', 'user-roles', 'user-role').items.get('Users');
    expect(role?.text('description')).not.toBe('Changed from Node-RED');
    await inject(running, example, 'Click: change it');
    expect(await running.debug.next('What it is now')).toBe('The description of Users is now: Changed from Node-RED.');
    expect(role?.text('description')).toBe('Changed from Node-RED');

    running.simulator.fault({ match: ({ method }) => method === 'PUT', status: 403 });
    await inject(running, example, 'Click: change it');
    expect(await running.debug.next('Why it failed')).toMatch(/^\w.*403/);
  },

  'Watch the health.json': async (running, example) => {
    const { simulator, debug } = running;
    const asked = () => simulator.requests.filter(({ path, status }) => path.includes('healthcheck') && status > 0).length;
    const tick = async (fault?: Omit<FaultRule, 'match'>) => {
      const before = asked();
      if (fault) simulator.fault({ ...fault, match: ({ path }) => path.includes('healthcheck') });
      await inject(running, example, 'Every minute');
      // One after the other.
      await eventually(() => expect(asked()).toBe(before + 1));
    };
    const load = (value: number) => ({
      body: (text: string) => JSON.stringify({ ...(JSON.parse(text) as object), 'CPU-UTILIZATION4': value }),
    });
    expect(await debug.next('Fine again')).toBe('The CPU load is 7 %.');
    await tick();
    await tick(load(93));
    expect(await debug.next('Alert')).toBe('The CPU load is 93 %.');
    await tick(load(94));
    await tick(load(-1));
    expect(await debug.next('Alert')).toMatch(/^[A-Z].*\.$/);
    simulator.state.variants.cpuKey = 'CPU-UTILIZATION';
    await tick();
    expect(await debug.next('Fine again')).toMatch(/^The CPU load is/);
    await tick({ status: 403 });
    expect(await debug.next('Alert')).toMatch(/^The health could not be read: /);
    await tick();
    expect(await debug.next('Fine again')).toMatch(/^The CPU load is/);
    // Neither the second normal value nor the second high value is reported again.
    expect(debug.shown.filter(({ name }) => name === 'Alert' || name === 'Fine again')).toEqual([]);
  },
};
