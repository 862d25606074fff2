import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { operations } from '../../src/areas';
import type { ErrorCode } from '../../src/model/error-codes';
import { startRowAppliance, type RowAppliance } from '../package/coverage/appliance';
import { simulatorCertificate, withoutLoginProof } from '../helpers/simulated-appliance';
import { startRawServer } from '../helpers/raw-server';
import { FaultProxy, type ProxiedAnswer, type Fault, type ProxiedRequest } from '../helpers/fault-proxy';
import { PROXY_BEHAVIORS, HONEST_PROXY_BEHAVIOR, HostileProxy } from '../helpers/hostile-proxy';
import { NodeRedHarness, type NodeDefinition, type MessageOutcome, type Runtime } from '../helpers/node-red';

/** They look into a folder here, wait for a person, or do what an entry tells. */
const LEFT_OUT = /^login\.|^journal\.|^contain\.(?:list|release)$|^backup\.(?:list|verify)$|^certificates\.served$|^system\.conformance$/;

interface Subject {
  readonly name: string;
  readonly effect: string;
  readonly input: Record<string, unknown>;
  readonly appliance: RowAppliance;
  /** What it asks for where nothing is wrong. */
  usual: { readonly method: string; readonly path: string }[];
}

/** Which of its requests meets something. */
const PLACES = {
  'first request': () => 0,
  'first write': (subject: Subject) => subject.usual.findIndex(({ method, path }) => !isRead(subject, method, path)),
  'last request': ({ usual }: Subject) => usual.length - 1,
} as const;
type Place = keyof typeof PLACES;
const EVERYWHERE = Object.keys(PLACES) as Place[];

/** Long enough for whoever answers. */
const USUAL_SECONDS = 20;

type Codes = readonly (ErrorCode | 'done')[];

interface Case {
  readonly what: string;
  readonly fault: Fault;
  /** Once, or every time from then on. */
  readonly always?: boolean;
  /** The first request and the first write, if it is not said. */
  readonly places?: readonly Place[];
  /** The time limit; long enough for whoever answers, unless it is said. */
  readonly seconds?: number;
  /** With a key that was accepted before. */
  readonly warm?: boolean;
  readonly read: Codes;
  readonly write: Codes;
}

const json = (status: number, value: unknown, headers: Record<string, string> = {}): ProxiedAnswer => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
});
const refused = (status: number, headers?: Record<string, string>): ProxiedAnswer =>
  json(status, { result: { errors: [{ message: 'Not now.' }] } }, headers);
const bare = (status: number): ProxiedAnswer => ({ status, headers: {}, body: Buffer.alloc(0) });
const gone = (passing: ProxiedRequest): undefined => void passing.socket.destroy();
/** Carried out, and then something happens to the answer. */
const after =
  (work: (answer: ProxiedAnswer, passing: ProxiedRequest) => ProxiedAnswer | undefined): Fault =>
  async (passing) =>
    work(await passing.forward(), passing);

/** Raw bytes in place of an answer, and the end. */
function raw(passing: ProxiedRequest, head: string, body: Buffer | string = ''): undefined {
  passing.socket.write(`${head}\r\nconnection: close\r\n\r\n`);
  passing.socket.end(body);
  return undefined;
}

async function trickle(answer: ProxiedAnswer, { socket }: ProxiedRequest): Promise<void> {
  const bytes = Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${answer.body.length + 1000}\r\n\r\n`), answer.body]);
  for (let at = 0; at < bytes.length && !socket.destroyed; at++) {
    socket.write(bytes.subarray(at, at + 1));
    await pause(200);
  }
}

const UNKNOWN: Codes = ['OUTCOME_UNKNOWN'];
const ODD: Codes = ['BAD_RESPONSE'];

/** What one request may meet, and what the contract says of it (section 4, "Errors"). */
const CASES: readonly Case[] = [
  { what: 'a reset once its head is there', fault: gone, read: ['done'], write: UNKNOWN },
  { what: 'a reset once its head is there, again and again', fault: gone, always: true, read: ['CONNECTION'], write: UNKNOWN },
  {
    what: 'a reset once it is carried out',
    places: EVERYWHERE,
    fault: after((_, passing) => gone(passing)),
    read: ['done'],
    write: UNKNOWN,
  },
  {
    what: 'a reset once it is carried out, again and again',
    fault: after((_, passing) => gone(passing)),
    always: true,
    read: ['CONNECTION'],
    write: UNKNOWN,
  },
  { what: 'no answer', seconds: 3, fault: () => undefined, always: true, read: ['TIMEOUT'], write: UNKNOWN },
  {
    what: 'a byte now and then',
    seconds: 3,
    fault: after((answer, passing) => void trickle(answer, passing)),
    always: true,
    read: ['TIMEOUT'],
    write: UNKNOWN,
  },
  { what: 'half of JSON', fault: after(() => json(200, '{"result":{"info":[')), always: true, read: ODD, write: UNKNOWN },
  { what: 'no JSON', fault: after(() => json(200, 'It works!')), always: true, read: ODD, write: UNKNOWN },
  {
    what: 'a page',
    fault: after(() => ({ status: 200, headers: { 'content-type': 'text/html' }, body: Buffer.from('<html>Sign in</html>') })),
    always: true,
    read: [...ODD, 'done'],
    write: UNKNOWN,
  },
  {
    what: 'less than its length says',
    fault: after((answer, passing) =>
      raw(passing, `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer.body.length + 9}`, answer.body),
    ),
    always: true,
    read: ['CONNECTION', 'BAD_RESPONSE'],
    write: UNKNOWN,
  },
  {
    what: 'a length that is none',
    fault: after((answer, passing) =>
      raw(passing, 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: many', answer.body),
    ),
    always: true,
    read: ['CONNECTION', 'BAD_RESPONSE'],
    write: UNKNOWN,
  },
  {
    what: 'a head of 10 MB',
    fault: after((answer, passing) => raw(passing, `HTTP/1.1 200 OK\r\nx-much: ${'x'.repeat(10_000_000)}`, answer.body)),
    always: true,
    read: ['CONNECTION', 'BAD_RESPONSE'],
    write: UNKNOWN,
  },
  { what: '500', places: EVERYWHERE, fault: () => refused(500), read: ['done'], write: ['APPLIANCE_ERROR'] },
  { what: '500 for a while', fault: () => refused(500), always: true, read: ['APPLIANCE_ERROR'], write: ['APPLIANCE_ERROR'] },
  { what: '503', fault: () => refused(503), always: true, read: ['APPLIANCE_ERROR'], write: ['APPLIANCE_ERROR'] },
  {
    what: '503 with Retry-After',
    fault: () => refused(503, { 'retry-after': '1' }),
    always: true,
    read: ['APPLIANCE_ERROR'],
    write: ['APPLIANCE_ERROR'],
  },
  { what: '429', fault: () => refused(429), always: true, read: ['APPLIANCE_ERROR'], write: ['APPLIANCE_ERROR'] },
  {
    what: '429 with Retry-After',
    fault: () => refused(429, { 'retry-after': '3600' }),
    always: true,
    read: ['APPLIANCE_ERROR'],
    write: ['APPLIANCE_ERROR'],
  },
  { what: '401', places: EVERYWHERE, fault: () => refused(401), read: ['done'], write: ['done'] },
  { what: '401 again and again', fault: () => refused(401), always: true, read: ['UNAUTHORIZED'], write: ['UNAUTHORIZED'] },
  { what: 'a bare 403', places: EVERYWHERE, warm: true, fault: () => bare(403), read: ['done'], write: ['done'] },
  { what: 'a bare 403 to a fresh key', places: ['first request'], fault: () => bare(403), read: ['FORBIDDEN'], write: ['FORBIDDEN'] },
  {
    what: 'a bare 403 again and again',
    fault: () => bare(403),
    warm: true,
    always: true,
    read: ['FORBIDDEN'],
    write: ['FORBIDDEN'],
  },
  { what: 'a 403 that says why', fault: () => refused(403), read: ['FORBIDDEN'], write: ['FORBIDDEN'] },
];

/** What the login may meet: nothing of the operation is sent then. */
const LOGINS: readonly { what: string; seconds?: number; fault: Fault; codes: Codes }[] = [
  { what: 'a reset', fault: gone, codes: ['CONNECTION'] },
  { what: 'no answer', seconds: 3, fault: () => undefined, codes: ['TIMEOUT'] },
  { what: 'half of JSON', fault: () => json(200, '{"api_k'), codes: ODD },
  { what: 'a page', fault: () => ({ status: 200, headers: { 'content-type': 'text/html' }, body: Buffer.from('<html>') }), codes: ODD },
  { what: '401', fault: () => refused(401), codes: ['LOGIN_REJECTED'] },
  { what: '403', fault: () => refused(403), codes: ['LOGIN_REJECTED', 'FORBIDDEN'] },
  { what: '404', fault: () => refused(404), codes: ['NOT_FOUND'] },
  { what: '429', fault: () => refused(429, { 'retry-after': '60' }), codes: ['APPLIANCE_ERROR'] },
  { what: '500', fault: () => refused(500), codes: ['APPLIANCE_ERROR'] },
  { what: 'another step for ever', fault: () => json(200, { resume_id: 'r' }), codes: ['SECOND_FACTOR_REQUIRED'] },
];

/** What a proxy's conduct is called, where that is not `CONNECTION`. */
const PROXIED: { readonly [how in keyof typeof PROXY_BEHAVIORS]?: Codes } = {
  'never answers': ['TIMEOUT'],
  'answers a byte now and then': ['TIMEOUT'],
  'agrees, and says nothing more': ['TIMEOUT'],
  // The reset after the garbage can arrive before the garbage is read.
  'agrees, and sends garbage': ['TLS', 'CONNECTION'],
  'agrees, and answers itself without TLS': ['TLS'],
  'agrees, and answers itself with a certificate of its own': ['TLS'],
};

/** They say what they could not read, or try it again later, and go on; nothing is put back at an appliance that does not tell who it is. */
const TOLERANT = /^snapshot\.|^audit\.run$|^system\.(?:metrics|support-bundle)$|^contain\.contain$/;
const EXPORT = /\/(?:export-xml|binary-configuration)(?:\?|$)/;
const isRead = ({ effect }: Subject, method: string, path: string): boolean =>
  effect === 'read' || method === 'GET' || (method === 'POST' && EXPORT.test(path));

/** What became of a message, by its code; several items that all failed have the code of the first. */
function codesOf({ out, failed, caught }: MessageOutcome): string[] {
  return [...out, ...failed, ...caught].map(({ error, envelope, payload }) => {
    const { ok, code } = envelope as { ok: boolean; code?: string };
    if (ok) return 'done';
    const [first] = (payload as { results?: { error?: { code: string } }[] }).results ?? [];
    return (error as { code?: string } | undefined)?.code ?? code ?? first?.error?.code ?? 'none';
  });
}

/** The first request that it sends where nothing is wrong. */
const first = ({ usual: [{ method, path } = { method: 'GET', path: '' }] }: Subject): [method: string, path: string] => [method, path];

/** What their errors say. */
function wordsOf({ failed, caught }: MessageOutcome): string[] {
  return [...failed, ...caught].map(({ error }) => (error as { message: string }).message);
}

const BOTH = ['first request', 'first write'] as const;

/** Where a fault meets an operation. On the second line of Node-RED, whose part in it is small, at one of the places in turn. */
const placed =
  (runtime: Runtime) =>
  (one: Case, index: number): Case & { places: readonly Place[] } => {
    const places = one.places ?? BOTH;
    return { ...one, places: runtime === 'node-red' ? places : places.filter((_place, at) => at === index % places.length) };
  };

/** Every operation through a real TLS connection and a proxy that does something wrong, in a line of Node-RED. */
export function faultSuite(runtime: Runtime): void {
  const rig = new NodeRedHarness(runtime, { tls: simulatorCertificate });
  const proxy = new FaultProxy();
  const folder = mkdtempSync(join(tmpdir(), 'gateway-faults-'));
  const subjects: Subject[] = [];

  beforeAll(async () => {
    await Promise.all([rig.start(), proxy.start()]);
    for (const [name, { effect, example }] of operations) {
      if (LEFT_OUT.test(name)) continue;
      const own = 'folder' in example.input ? { folder: join(folder, name) } : {};
      if (own.folder !== undefined) mkdirSync(own.folder);
      const input = withoutLoginProof(name, { ...example.input, ...own });
      subjects.push({ name, effect, input, appliance: await startRowAppliance(), usual: [] });
    }
    await prepare();
    await deploy();
    const outcomes = await runAll();
    expect(outcomes.flatMap(([{ name }, outcome]) => wordsOf(outcome).map((words) => `${name}: ${words}`))).toEqual([]);
    for (const [subject] of outcomes) {
      subject.usual = subject.appliance.seen
        .filter(({ request }) => !request.endsWith('/realm_auth'))
        .map(({ request }) => ({ method: request.split(' ')[0] ?? '', path: request.split(' ')[1] ?? '' }));
    }
    await clear();
  });
  afterEach(clear);
  afterAll(async () => {
    await Promise.all([rig.stop(), proxy.stop(), ...subjects.map(({ appliance }) => appliance.close())]);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });

  /** What some need to be there: a backup to restore, a snapshot to compare with. */
  async function prepare(): Promise<void> {
    const needed: Record<string, string> = { 'backup.restore': 'backup.run', 'snapshot.revert': 'snapshot.take' };
    const made = subjects.flatMap((subject) => {
      const name = needed[subject.name];
      if (name === undefined) return [];
      const { path, folder: into } = subject.input;
      const input = { folder: into, ...(path !== undefined && { path }), ...(name === 'backup.run' && { what: 'both' }) };
      return [{ ...subject, name, input }];
    });
    await deploy(made);
    for (const [subject, outcome] of await runAll(made))
      expect([subject.name, ...codesOf(outcome), ...wordsOf(outcome)]).toEqual([subject.name, 'done']);
    await clear();
  }

  async function clear(): Promise<void> {
    await rig.reset();
    forget();
  }

  /** What came so far. */
  function forget(): void {
    proxy.reset();
    for (const { appliance } of subjects) {
      appliance.answerWith(undefined);
      appliance.seen.length = 0;
    }
  }

  function deploy(some: readonly Subject[] = subjects, more: NodeDefinition = {}, further: NodeDefinition[] = []): Promise<void> {
    const nodes = some.map(({ name, input }) => {
      const [area, operation] = name.split('.');
      const fields = Object.fromEntries(Object.keys(input).map((key) => [key, { type: 'msg', value: `in["${key}"]` }]));
      return { id: name, type: `gateway-${area}`, operation, appliance: `to ${name}`, fields };
    });
    const appliances = some.map(({ name, appliance }) => {
      const url = proxy.addRoute(name, appliance.url);
      const own = { url, realm: 'Admin Users', tls: 'tls1', timeout: '20', transferTimeout: '20', vendor: 'acme' };
      return { id: `to ${name}`, type: 'gateway-appliance', name, ...own, ...more };
    });
    const credentials = Object.fromEntries(some.map(({ name }) => [`to ${name}`, { username: name, password: 'p' }]));
    return rig.deploy({ nodes, more: [...appliances, ...further], credentials });
  }

  function runAll(some: readonly Subject[] = subjects): Promise<[Subject, MessageOutcome][]> {
    return Promise.all(
      some.map(async (subject): Promise<[Subject, MessageOutcome]> => [
        subject,
        await rig.run({ payload: '', in: structuredClone(subject.input) }, subject.name),
      ]),
    );
  }

  /** What went wrong with those that met it: another code than the contract's, more or fewer than one outcome, a write sent twice. */
  function wrongs(outcomes: readonly [Subject, MessageOutcome][], wanted: (subject: Subject) => Codes): string[] {
    return outcomes.flatMap(([subject, outcome]) => {
      const codes = codesOf(outcome);
      const allowed = [
        ...wanted(subject),
        ...(TOLERANT.test(subject.name) ? ['done', 'BAD_INPUT', ...wanted({ ...subject, effect: 'read' })] : []),
      ];
      const sent = subject.appliance.seen.filter(({ request }) => !request.endsWith('/realm_auth'));
      const twice = sent.filter(({ request, body }, index) => {
        const [method = '', path = ''] = request.split(' ');
        const times = subject.usual.filter((usual) => usual.method === method && usual.path === path).length;
        const before = sent.slice(0, index + 1).filter((one) => one.request === request && one.body === body).length;
        return !isRead(subject, method, path) && before > Math.max(1, times);
      });
      const logins = subject.appliance.seen.length - sent.length;
      return [
        ...(codes.length === 1 && allowed.includes(codes[0] ?? '')
          ? []
          : [`${subject.name}: ${codes.join()}, not ${allowed.join(' or ')}`]),
        ...twice.map(({ request }) => `${subject.name} sent ${request} twice`),
        ...(logins > 2 ? [`${subject.name} logged in ${logins} times`] : []),
      ];
    });
  }

  describe.each(CASES.map(placed(runtime)))('$what', ({ fault, places, always, warm, seconds = USUAL_SECONDS, read, write }) => {
    it.each(places)('is handled as the answer to its %s', async (place) => {
      await deploy(subjects, { timeout: String(seconds), transferTimeout: String(seconds) });
      if (warm) {
        await runAll();
        forget();
      }
      const target = new Map(subjects.map((subject) => [subject.name, PLACES[place](subject)]));
      const concerned = subjects.filter(({ name, usual }) => (target.get(name) ?? -1) >= 0 && usual.length > 0);
      const met = new Set<string>();
      proxy.fault = ({ owner, index, isLogin }) => {
        const at = target.get(owner) ?? -1;
        if (isLogin || at < 0 || index < at || (met.has(owner) && !always)) return undefined;
        met.add(owner);
        return fault;
      };
      const outcomes = await runAll(concerned);
      // On a busy machine a short time limit may be over before that request is reached.
      const early: Codes = seconds < USUAL_SECONDS ? ['TIMEOUT'] : [];
      const wasEarly = (outcome: MessageOutcome): boolean => early.some((code) => codesOf(outcome).includes(code));
      const missed = outcomes.filter(([{ name }, outcome]) => !met.has(name) && !wasEarly(outcome));
      // What was found out once is not asked for again.
      if (!warm) expect(missed.map(([{ name }]) => name)).toEqual([]);
      expect(met.size).toBeGreaterThan(20);
      expect(
        wrongs(outcomes, (subject) => {
          if (!met.has(subject.name)) return ['done', ...early];
          const { method = '', path = '' } = subject.usual[target.get(subject.name) ?? 0] ?? {};
          return isRead(subject, method, path) ? read : write;
        }),
      ).toEqual([]);
      expect(proxy.unroutedRequests).toEqual([]);
    });
  });

  describe.each(LOGINS)('$what, as the answer to the login', ({ fault, seconds = USUAL_SECONDS, codes }) => {
    it('sends nothing of the operation', async () => {
      await deploy(subjects, { timeout: String(seconds) });
      proxy.fault = ({ isLogin }) => (isLogin ? fault : undefined);
      expect(wrongs(await runAll(), () => codes)).toEqual([]);
      expect(subjects.flatMap(({ name, appliance }) => appliance.seen.map(({ request }) => `${name} ${request}`))).toEqual([]);
    });
  });

  describe('an untrusted appliance', () => {
    it.each<[string, Codes, () => Promise<void> | void, () => Promise<void> | void]>([
      ['that nobody is at', ['CONNECTION'], () => proxy.stop(), () => proxy.listen()],
      ['that cuts every connection at once', ['CONNECTION'], () => void (proxy.cutsConnections = true), () => undefined],
      ['whose certificate has expired', ['TLS'], () => proxy.presentCertificate('expired'), () => proxy.presentCertificate('own')],
      ['with the certificate of somebody else', ['TLS'], () => proxy.presentCertificate('foreign'), () => proxy.presentCertificate('own')],
    ])('%s gets no request', async (_what, codes, begin, end) => {
      await deploy();
      await begin();
      try {
        expect(wrongs(await runAll(), () => codes)).toEqual([]);
        expect(subjects.flatMap(({ appliance }) => appliance.seen)).toEqual([]);
      } finally {
        await end();
      }
    });

    it('an untrusted appliance with an unknown host name gets no request', async () => {
      // A few: names are looked up by four threads, and where there is no name server it takes long.
      const some = subjects.slice(0, 3);
      await deploy(some, { url: 'https://gateway.invalid/', timeout: '60' });
      expect(wrongs(await runAll(some), () => ['CONNECTION'])).toEqual([]);
    });

    it('an untrusted appliance that changes its certificate gets no further request', async () => {
      await deploy();
      const several = subjects.filter(({ usual }) => usual.length > 1);
      proxy.fault = ({ isLogin, index }) => {
        if (isLogin || index > 0) return undefined;
        return async (passing) => {
          const answer = await passing.forward();
          passing.response.on('finish', () => proxy.presentCertificate('foreign'));
          return answer;
        };
      };
      try {
        const [subject] = several;
        if (!subject) throw new Error('No operation has two requests.');
        expect(wrongs(await runAll([subject]), () => ['TLS'])).toEqual([]);
        expect(subject.appliance.seen.filter(({ request }) => !request.endsWith('/realm_auth'))).toHaveLength(1);
      } finally {
        proxy.presentCertificate('own');
      }
    });

    it('an untrusted appliance that redirects is not followed, and the other host gets nothing', async () => {
      const elsewhere = await startRawServer(() => undefined, { forwardsLogins: true });
      await deploy();
      proxy.fault = ({ isLogin, index }) =>
        isLogin || index > 0 ? undefined : () => ({ status: 302, headers: { location: `${elsewhere.url}/` }, body: Buffer.alloc(0) });
      expect(wrongs(await runAll(), () => ['APPLIANCE_ERROR'])).toEqual([]);
      expect([elsewhere.requests, elsewhere.sockets.size]).toEqual([[], 0]);
    });

    it('an untrusted appliance that sends an unrequested answer does not have it used for the next request', async () => {
      await deploy();
      const planted = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 15\r\n\r\n{"planted":true}'.replace('15', '16');
      proxy.fault = () =>
        after((answer, { response, socket }) => {
          response.on('finish', () => void socket.write(planted));
          return answer;
        });
      const outcomes = await runAll();
      expect(outcomes.filter(([, outcome]) => JSON.stringify([outcome.out, outcome.caught]).includes('planted'))).toEqual([]);
      expect(outcomes.filter(([, outcome]) => codesOf(outcome).length !== 1)).toEqual([]);
    });
  });

  describe('an HTTP proxy', () => {
    const between = new HostileProxy();
    beforeAll(() => between.start());
    afterEach(() => Object.assign(between, { overheard: '', asked: 0, conduct: HONEST_PROXY_BEHAVIOR }));
    afterAll(() => between.stop());

    const through = (seconds: number): Promise<void> =>
      deploy(subjects, { proxy: 'between', timeout: String(seconds), transferTimeout: String(seconds) }, [
        { id: 'between', type: 'http proxy', name: '', url: between.url, noproxy: [] },
      ]);

    it.each(Object.keys(PROXY_BEHAVIORS) as (keyof typeof PROXY_BEHAVIORS)[])(
      'an HTTP proxy that %s gets nothing, and neither does the appliance',
      async (how) => {
        await through(/never|nothing more|now and then/.test(how) ? 3 : 20);
        between.behavior = PROXY_BEHAVIORS[how];
        const outcomes = await runAll();
        expect(wrongs(outcomes, () => PROXIED[how] ?? ['CONNECTION'])).toEqual([]);
        expect(between.tunnelCount).toBeGreaterThanOrEqual(subjects.length);
        expect([between.capturedTraffic, subjects.flatMap(({ appliance }) => appliance.seen), proxy.unroutedRequests]).toEqual([
          '',
          [],
          [],
        ]);
        await rig.reset();
        await rig.until(() => between.sockets.size === 0);
      },
    );

    it('an HTTP proxy that works keeps the retry rules: a broken write is not repeated, a read is', async () => {
      await through(20);
      between.behavior = HONEST_PROXY_BEHAVIOR;
      const met = new Set<string>();
      proxy.fault = ({ owner, isLogin }) => {
        if (isLogin || met.has(owner)) return undefined;
        met.add(owner);
        return gone;
      };
      const outcomes = await runAll();
      expect(wrongs(outcomes, (subject) => (isRead(subject, ...first(subject)) ? ['done'] : UNKNOWN))).toEqual([]);
      expect([met.size > 20, proxy.unroutedRequests]).toEqual([true, []]);
    });
  });

  it('leaves nothing open after a deploy', async () => {
    const resources = (): Record<string, number> => {
      const counts: Record<string, number> = {};
      for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
      return counts;
    };
    const before = resources();
    await deploy();
    proxy.fault = ({ index, isLogin }) => (isLogin || index % 2 === 0 ? undefined : () => undefined);
    const running = subjects.map((subject) => rig.node(subject.name).receive({ payload: '', in: structuredClone(subject.input) }));
    expect(running.length).toBeGreaterThan(50);
    await rig.until(() => subjects.every(({ appliance }) => appliance.seen.length > 0));
    await rig.reset();
    await rig.until(() => proxy.sockets.size === 0);
    const more = (): string[] =>
      Object.entries(resources()).flatMap(([kind, count]) => (count > (before[kind] ?? 0) ? [`${kind}: ${count}`] : []));
    await rig.until(() => more().length === 0).catch(() => undefined);
    expect(more()).toEqual([]);
  });
}
