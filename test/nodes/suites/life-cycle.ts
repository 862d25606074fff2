import { createRequire } from 'node:module';
import { inspect, isDeepStrictEqual } from 'node:util';
import helper from 'node-red-node-test-helper';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { statusForErrorCode } from '../../../nodes/status/status-text';
import { StatusReporter } from '../../../nodes/status/node-status';
import { addExtraArea } from '../../helpers/extra-area';
import { NodeRedHarness, type Runtime } from '../../helpers/node-red';
import { expectCaught, expectSuccess } from '../../helpers/expect-outcome';
import { ERROR_CODES } from '../../../src/model/error-codes';

const PASSWORD = 'planted "pass word" + /1';
const OTHER = 'planted-second=secret&2';

/** Cancelling, redeploying, statuses, and that no secret gets out. */
export function lifecycleSuite(runtime: Runtime): void {
  const rig = new NodeRedHarness(runtime, { sessions: 450, password: PASSWORD });
  const credentials = { a1: { username: 'api-admin', password: PASSWORD } };
  beforeAll(() => rig.start());
  afterEach(() => rig.reset());
  afterAll(() => rig.stop());

  const info = { type: 'gateway-system', operation: 'info' };
  const kill = { type: 'gateway-sessions', operation: 'kill' };

  /** Sends messages that the appliance never answers, and waits until they are there. */
  async function hang(...messages: [Record<string, unknown> & { _msgid: string }, string][]): Promise<void> {
    rig.sim.fault({ match: ({ path }) => !path.includes('auth'), hang: true, times: messages.length });
    const before = rig.sim.requests.length;
    for (const [message, id] of messages) rig.node(id).receive(message);
    await rig.until(() => rig.sim.requests.slice(before).filter(({ path }) => !path.includes('auth')).length === messages.length);
  }

  describe('msg.cancel', () => {
    it('msg.cancel set to true ends all runs of the node and completes without output', async () => {
      await rig.deploy({ nodes: [info, { ...info, id: 'n2' }], credentials });
      await hang([{ _msgid: 'm1', payload: 1 }, 'n1'], [{ _msgid: 'm2', payload: 2 }, 'n1'], [{ _msgid: 'm3', payload: 3 }, 'n2']);
      expect(await rig.run({ _msgid: 'c1', cancel: true })).toEqual({ out: [], failed: [], caught: [], completed: 1 });
      expect(expectCaught(await rig.ended('m1'))).toMatchObject({ payload: 1, error: { code: 'ABORTED' } });
      expect(expectCaught(await rig.ended('m2'))).toMatchObject({ payload: 2, error: { code: 'ABORTED' } });
      expect(rig.outcome('m3')).toEqual({ out: [], failed: [], caught: [], completed: 0 });
      await rig.run({ _msgid: 'c2', cancel: true }, 'n2');
      expectCaught(await rig.ended('m3'));
    });

    it('msg.cancel set to a _msgid ends only that message, and a write in progress has an unknown outcome', async () => {
      await rig.deploy({ nodes: [kill], credentials });
      await hang([{ _msgid: 'm1', payload: 'sid1' }, 'n1'], [{ _msgid: 'm2', payload: 'sid2' }, 'n1']);
      await rig.run({ _msgid: 'c1', cancel: 'm1' });
      expect(expectCaught(await rig.ended('m1')).error).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { reason: 'ABORTED' } });
      expect(rig.outcome('m2').caught).toHaveLength(0);
      await rig.run({ _msgid: 'c2', cancel: true });
      expectCaught(await rig.ended('m2'));
    });

    it.each([[false], [null], [undefined]])('msg.cancel set to %j cancels nothing', async (cancel) => {
      await rig.deploy({ nodes: [info], credentials });
      expectSuccess(await rig.run({ payload: 1, cancel }));
    });

    it.each([[''], [1], [{}], ['false'], ['true'], ['TRUE']])('msg.cancel set to %j is BAD_INPUT and runs nothing', async (cancel) => {
      await rig.deploy({ nodes: [info], credentials });
      expect(expectCaught(await rig.run({ payload: 1, cancel })).error.code).toBe('BAD_INPUT');
    });

    it('msg.cancel ends a message that waits for a context store that never answers', async () => {
      await rig.deploy({ nodes: [{ ...info, fields: {}, operation: 'x', operationType: 'flow' }], credentials });
      rig.node().context = () => ({ flow: { get: () => undefined } }) as never;
      rig.node().receive({ _msgid: 'm1', payload: 1 });
      await rig.run({ _msgid: 'c1', cancel: true });
      expect(expectCaught(await rig.ended('m1')).error.code).toBe('ABORTED');
    });
  });

  describe('a redeploy', () => {
    it('a redeploy gives every running message its one outcome before the node closes', async () => {
      await rig.deploy({ nodes: [info, { ...kill, id: 'n2' }], credentials });
      const errors: [unknown, unknown][] = [];
      const node = rig.node('n1');
      for (const one of [node, rig.node('n2')]) {
        vi.spyOn(one as unknown as { _complete(msg: unknown, error: unknown): void }, '_complete').mockImplementation(
          (msg, error) => void errors.push([msg, error]),
        );
      }
      await hang([{ _msgid: 'm1', payload: 1 }, 'n1'], [{ _msgid: 'm2', payload: 'sid2' }, 'n2']);
      await rig.redeploy({ nodes: [info], credentials });
      expect(errors).toHaveLength(2);
      expect(errors).toContainEqual([expect.objectContaining({ _msgid: 'm1', payload: 1 }), expect.objectContaining({ code: 'ABORTED' })]);
      expect(errors).toContainEqual([expect.objectContaining({ _msgid: 'm2' }), expect.objectContaining({ code: 'OUTCOME_UNKNOWN' })]);
      expect(rig.node('n1')).not.toBe(node);
      expectSuccess(await rig.run({ payload: 1 }));
    });

    it('a redeploy of only the appliance ends its running messages', async () => {
      await rig.deploy({ nodes: [info], credentials });
      const node = rig.node('n1') as unknown as { _complete(msg: unknown, error: unknown): void };
      const complete = vi.spyOn(node, '_complete').mockImplementation(() => undefined);
      await hang([{ _msgid: 'm1', payload: 1 }, 'n1']);
      await rig.redeploy({ nodes: [info], appliance: { timeout: '7' }, credentials }, 'nodes');
      expect(complete).toHaveBeenCalledExactlyOnceWith(
        expect.objectContaining({ _msgid: 'm1' }),
        expect.objectContaining({ code: 'ABORTED' }),
      );
      expectSuccess(await rig.run({ payload: 1 }));
    });

    it('a redeploy of one node ends its runs before the new node starts', async () => {
      await rig.deploy({ nodes: [info, { ...info, id: 'n2' }], credentials });
      await hang([{ _msgid: 'm1', payload: 1 }, 'n1'], [{ _msgid: 'm2', payload: 2 }, 'n2']);
      await rig.redeploy(
        {
          nodes: [
            { ...info, output: 'data' },
            { ...info, id: 'n2' },
          ],
          credentials,
        },
        'nodes',
      );
      expect(expectCaught(await rig.ended('m1')).error.code).toBe('ABORTED');
      expect(rig.outcome('m2').caught).toHaveLength(0);
      await rig.run({ cancel: true }, 'n2');
    });

    it.each([
      [
        'that was sent',
        'full',
        'sessions.kill on vpn-1 was still running when this node closed. It ended with OUTCOME_UNKNOWN: The write may',
      ],
      [
        'that was sent',
        'nodes',
        'sessions.kill on vpn-1 was still running when this node closed. It ended with OUTCOME_UNKNOWN: The write may',
      ],
    ] as const)('a write %s is logged during a deploy of kind %s', async (_, kind, line) => {
      await rig.deploy({ nodes: [kill, { ...info, id: 'n2' }, { ...kill, id: 'n3', dryRun: true }], credentials });
      await hang([{ _msgid: 'm1', payload: 'sid1' }, 'n1'], [{ _msgid: 'm2', payload: 1 }, 'n2']);
      await rig.redeploy({ nodes: [{ ...kill, name: 'new' }], credentials }, kind);
      const lines = helper
        .log()
        .args.map(([{ msg }]) => msg as unknown)
        .filter((msg) => typeof msg === 'string' && msg.includes('still running'));
      expect(lines).toEqual([expect.stringContaining(line)]);
      expect(lines.join()).not.toContain(PASSWORD);
    });

    it('a redeploy closes the connections', async () => {
      await rig.deploy({ nodes: [info], credentials });
      expectSuccess(await rig.run({ payload: 1 }));
      expect(rig.sim.openConnections).toBeGreaterThan(0);
      await rig.redeploy({ nodes: [{ ...info, name: 'new' }], appliance: { name: 'new' }, credentials });
      await rig.until(() => rig.sim.openConnections === 0);
    });
  });

  describe('the status', () => {
    async function last(message: Record<string, unknown>, id = 'n1'): Promise<unknown> {
      const before = rig.statuses(id).length;
      await rig.run(message, id);
      await rig.until(() =>
        rig
          .statuses(id)
          .slice(before)
          .some(({ fill }) => fill !== 'blue'),
      );
      return rig.statuses(id).at(-1);
    }

    it.each([
      [{ ...info }, { payload: 1 }, { fill: 'green', shape: 'dot', text: 'ok' }],
      [{ type: 'gateway-sessions', operation: 'list' }, { payload: 1 }, { fill: 'green', shape: 'dot', text: '450 sessions' }],
      [{ type: 'gateway-config', operation: 'list' }, { payload: '/' }, { fill: 'green', shape: 'dot', text: '4 items' }],
      [{ ...kill, dryRun: true }, { payload: ['a', 'b', 'c'] }, { fill: 'grey', shape: 'dot', text: 'planned 3' }],
      [{ ...kill }, { payload: 'sidgone' }, { fill: 'red', shape: 'ring', text: 'not found' }],
      [{ ...kill }, { payload: 1 }, { fill: 'red', shape: 'ring', text: 'needs Session' }],
      [{ ...kill }, { payload: [] }, { fill: 'green', shape: 'dot', text: 'ended 0' }],
    ])('the status of %j after %j is %j', async (node, message, wanted) => {
      await rig.deploy({ nodes: [node], credentials });
      expect(await last(message)).toEqual(wanted);
      expect(rig.statuses()[0]).toEqual({ fill: 'blue', shape: 'dot', text: 'working' });
    });

    it('the status counts running and failed messages', async () => {
      await rig.deploy({ nodes: [kill, { ...kill, id: 'n2' }], credentials });
      const ids = [1, 2, 3].map(() => rig.sim.state.sessions.add());
      expect(await last({ payload: [...ids, 'sidgone', 'sidgone2'] })).toEqual({ fill: 'yellow', shape: 'dot', text: '3 of 5 ended' });
      await hang(
        [{ _msgid: 'm1', payload: 'sid1' }, 'n2'],
        [{ _msgid: 'm2', payload: 'sid2' }, 'n2'],
        [{ _msgid: 'm3', payload: 'sid3' }, 'n2'],
      );
      await rig.until(() => rig.statuses('n2').at(-1)?.text === '3 running');
      await rig.run({ cancel: true }, 'n2');
      await rig.until(() => rig.statuses('n2').at(-1)?.text === 'outcome unknown');
    });

    it.each([
      ['some', (n: number) => (n === 3 || n === 7 ? 'sidgone' : undefined), { fill: 'yellow', shape: 'dot', text: '2 of 20 failed' }],
      [
        'the first, before anything is sent',
        (n: number) => (n < 2 ? n : undefined),
        { fill: 'yellow', shape: 'dot', text: '2 of 20 failed' },
      ],
      ['none', () => undefined, { fill: 'green', shape: 'dot', text: 'ok' }],
      ['all, by the same', () => 'sidgone', { fill: 'red', shape: 'ring', text: 'not found' }],
      ['all, by this and that', (n: number) => (n < 2 ? n : 'sidgone'), { fill: 'red', shape: 'ring', text: '20 of 20 failed' }],
    ])('the status of twenty simultaneous messages shows that %s failed', async (_, wrong, wanted) => {
      await rig.deploy({ nodes: [kill], credentials });
      const payloads = Array.from({ length: 20 }, (_, n) => wrong(n) ?? rig.sim.state.sessions.add());
      await Promise.all(payloads.map((payload) => rig.run({ payload })));
      await rig.until(() => isDeepStrictEqual(rig.statuses().at(-1), wanted));
    });

    it('the status of a later message replaces an error of an earlier one', () => {
      const shown: { text?: string }[] = [];
      const status = new StatusReporter(
        { _: (key: string) => key } as never,
        { status: (one: { text?: string }) => shown.push(one) } as never,
      );
      vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
      for (const pause of [0, 100, 2000]) {
        vi.advanceTimersByTime(pause);
        status.startRun();
        vi.advanceTimersByTime(1000);
        status.finishRun({}, pause === 0 ? statusForErrorCode('TLS') : { fill: 'green', shape: 'dot', key: 'ok' });
        vi.advanceTimersByTime(300);
      }
      vi.useRealTimers();
      expect(shown.map(({ text }) => text).filter((text) => text !== 'working')).toEqual(['TLS problem', '1 of 2 failed', 'ok']);
    });

    it('the status changes at most four times a second under load and ends with the right text', async () => {
      await rig.deploy({ nodes: [info], credentials });
      const started = performance.now();
      for (let n = 0; n < 200; n++) await rig.run({ payload: 1 });
      const seconds = (performance.now() - started) / 1000;
      await rig.until(() => rig.statuses().at(-1)?.text === 'ok');
      expect(rig.statuses().length).toBeLessThanOrEqual(Math.ceil(seconds * 4) + 2);
    });

    it('the status is short for every error', () => {
      for (const code of ERROR_CODES) {
        const shown: { text?: string }[] = [];
        const status = new StatusReporter(
          { _: (key: string) => key } as never,
          { status: (one: { text?: string }) => shown.push(one) } as never,
        );
        status.report(statusForErrorCode(code));
        expect(shown[0]?.text).toMatch(/^[A-Za-z ]{2,19}$/);
      }
    });
  });

  it('an action node shows an uncaught error completely in the debug pane', async () => {
    const { util } = createRequire(require.resolve(`${runtime}/package.json`))('@node-red/util') as {
      util: { encodeObject(message: object): { format: string; msg: string } };
    };
    await rig.deploy({ nodes: [kill], credentials, more: [{ id: 'n9', z: 'f1', x: 1, y: 1, appliance: 'a1', wires: [], ...kill }] });
    // The log itself may hold the text already: a debug node encodes the logged message in place.
    const error = vi.spyOn(rig.node('n9'), 'error');
    rig.node('n9').receive({ payload: 1 });
    await rig.until(() => error.mock.calls.length > 0);
    const failure: unknown = error.mock.calls[0]?.[0];
    const shown = util.encodeObject({ msg: failure });
    expect(shown.format).toBe('Object');
    expect(JSON.parse(shown.msg)).toMatchObject({
      message: expect.stringContaining('session-id') as string,
      code: 'BAD_INPUT',
      cause: { ok: false, operation: 'sessions.kill' },
    });
    expect(String(failure)).toBe(`vpn-1, sessions.kill, BAD_INPUT: ${(JSON.parse(shown.msg) as { message: string }).message}`);
  });

  describe('a secret', () => {
    /** In every form in which it could stand in a log. */
    const forms = (...secrets: string[]): string[] =>
      secrets.flatMap((text) => [
        text,
        Buffer.from(text).toString('base64').replace(/=+$/, ''),
        encodeURIComponent(text),
        JSON.stringify(text).slice(1, -1),
      ]);
    const planted = forms(PASSWORD, `api-admin:${PASSWORD}`);

    it('a secret is in nothing that the nodes emit', async () => {
      const quote = (answer: string): string => answer.replace('{', `{"said":${JSON.stringify(planted.join(' '))},`);
      await rig.deploy({ nodes: [info, { ...kill, id: 'n2' }, { ...kill, id: 'n3', failures: 'output' }], credentials });
      expectSuccess(await rig.run({ payload: 1 }));
      for (const [id, status] of [
        ['n2', 422],
        ['n3', 500],
        ['n2', 403],
      ] as const) {
        rig.sim.fault({ status, body: JSON.stringify({ result: { errors: [{ message: `refused ${planted.join(' ')}` }] } }) });
        await rig.run({ payload: 'sid1' }, id);
      }
      rig.sim.expireKeys();
      rig.sim.fault({ match: ({ path }) => path.includes('auth'), status: 401, body: quote('{}') });
      await rig.run({ payload: 1 });
      const all = rig.emitted();
      for (const form of planted) expect(all).not.toContain(form);
    });

    it('a secret is nowhere in an inspected node', async () => {
      const upload = { id: 'n2', type: 'gateway-certificates', operation: 'upload', fields: { password: { type: 'cred', value: '' } } };
      await rig.deploy({ nodes: [info, upload], credentials: { ...credentials, n2: { password: OTHER } } });
      expectSuccess(await rig.run({ payload: 1 }));
      for (const id of ['a1', 'n1', 'n2']) {
        const text =
          inspect(rig.node(id), { depth: null, showHidden: false }) +
          JSON.stringify({ ...rig.node(id), _flow: undefined, users: undefined });
        for (const form of [...planted, ...forms(OTHER)]) expect(text, id).not.toContain(form);
      }
    });

    it('a secret of the node’s credentials reaches only the appliance, also in a new area', async () => {
      const remove = addExtraArea();
      const fields = { username: { type: 'str', value: 'planted' }, 'password-cleartext': { type: 'cred', value: '' } };
      await rig.deploy({
        nodes: [{ type: 'gateway-extra', operation: 'create', fields }],
        credentials: { ...credentials, n1: { 'password-cleartext': OTHER } },
      });
      expect(expectSuccess(await rig.run({ payload: { 'password-cleartext': 'other' } })).envelope.changed).toBe(true);
      expect(rig.sim.requests.at(-1)?.body).toContain(JSON.stringify(OTHER));
      rig.sim.fault({ status: 422, body: JSON.stringify({ result: { errors: [{ message: `bad ${forms(OTHER).join(' ')}` }] } }) });
      expect(expectCaught(await rig.run({ payload: 1 })).error.code).toBe('REJECTED');
      expect(expectSuccess(await rig.run({ payload: 1, dryRun: true })).envelope.plan).toHaveLength(1);
      for (const form of forms(OTHER)) expect(rig.emitted()).not.toContain(form);
      remove();
    });
  });
}
