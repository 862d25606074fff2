import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { statusForErrorCode } from '../../../nodes/status/status-text';
import { StatusReporter } from '../../../nodes/status/node-status';
import type { Progress } from '../../../src/model/operation';
import { defaultVariants } from '../../../src/simulator/variants';
import { NodeRedHarness, type NodeDefinition, type Runtime } from '../../helpers/node-red';
import { expectCaught, expectSecondOutput, expectSuccess } from '../../helpers/expect-outcome';
import { useFastKeyDerivation } from '../../helpers/cheap-keypair';

/** Everything that a URL, a log line or an envelope could break on. */
const PASSWORD = `q"uo'te & 50% <ü> пароль`;
const CRED = { type: 'cred', value: '' };
const XML = '<configuration xmlns="urn:x"><users/></configuration>';

const forms = (text: string): string[] => [
  text,
  encodeURIComponent(text),
  new URLSearchParams({ a: text }).toString().slice(2),
  Buffer.from(text).toString('base64').replace(/=+$/, ''),
  JSON.stringify(text).slice(1, -1),
];

/** Imports, exports and backups as nodes: files, progress, cancelling, closing, secrets. */
export function transfersSuite(runtime: Runtime): void {
  useFastKeyDerivation();
  const rig = new NodeRedHarness(runtime, { sessions: 3 });
  let folder = '';
  beforeAll(() => rig.start());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gateway-'));
    journal = rig.sim.requests.length;
  });
  afterEach(async () => {
    await rig.reset();
    Object.assign(rig.sim.state.variants, defaultVariants());
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  afterAll(() => rig.stop());

  const transfer = (operation: string, fields: NodeDefinition = {}, more: NodeDefinition = {}): NodeDefinition => ({
    type: 'gateway-transfer',
    operation,
    fields,
    ...more,
  });
  const backup = (operation: string, fields: NodeDefinition = {}, more: NodeDefinition = {}): NodeDefinition => ({
    ...transfer(operation, { folder: { type: 'str', value: folder }, ...fields }, more),
    type: 'gateway-backup',
  });
  let journal = 0;
  const imports = (): number =>
    rig.sim.requests.slice(journal).filter(({ path, method }) => path.endsWith('import-xml') || method === 'PUT').length;

  describe('an export followed by an import', () => {
    it.each(['xml', 'binary'])('an export followed by an import of %s needs two wires', async (kind) => {
      await rig.deploy({ nodes: [transfer(`export-${kind}`), transfer(`import-${kind}`, {}, { id: 'n2' })] });
      const exported = expectSuccess(await rig.run({ payload: 1 }));
      expect(exported.payload).toBeInstanceOf(Buffer);
      expect(exported.envelope).toMatchObject({ ok: true, verified: kind === 'xml' ? 'xml' : 'zip', changed: null });
      const imported = expectSuccess(await rig.run({ payload: exported.payload }, 'n2'));
      expect(imported.payload).toMatchObject({ result: { errors: [] } });
      expect(imported.envelope).toMatchObject({ ok: true, changed: true });
    });

    it.each(['xml', 'binary'])('an export followed by an import of %s uses files that the dialog names', async (kind) => {
      const file = { type: 'str', value: join(folder, `configuration.${kind}`) };
      await rig.deploy({ nodes: [transfer(`export-${kind}`, { file }), transfer(`import-${kind}`, { file }, { id: 'n2' })] });
      const { payload } = expectSuccess(await rig.run({ payload: 1 }));
      expect(payload).toMatchObject({ file: file.value, bytes: readFileSync(file.value).length });
      // What came out of the export is no document, and the file is not asked from it.
      expectSuccess(await rig.run({ payload }, 'n2'));
      expect(imports()).toBe(1);
    });

    it('an export followed by an import does not take a file or folder from the payload', async () => {
      const place = join(folder, 'from-a-webhook');
      await rig.deploy({
        nodes: [transfer('export-xml'), { ...backup('run'), fields: {}, id: 'n2' }, backup('run', {}, { id: 'n3' })],
      });
      expect(expectSuccess(await rig.run({ payload: { file: place } })).payload).toBeInstanceOf(Buffer);
      expect(expectCaught(await rig.run({ payload: { folder: place } }, 'n2')).error).toMatchObject({
        code: 'BAD_INPUT',
        message: expect.stringContaining('folder') as string,
      });
      expectSuccess(await rig.run({ payload: { folder: place, keep: 1, passphrase: 'x', password: 'x' } }, 'n3'));
      expect(existsSync(place)).toBe(false);
      expect(readdirSync(folder).filter((name) => name.endsWith('.xml'))).toHaveLength(1);
    });
  });

  describe('a dry run of a transfer', () => {
    it.each([
      ['import-xml', { payload: XML }, { file: `${XML.length} bytes`, password: '••••' }],
      ['import-binary', { payload: Buffer.from('UEsDBA==') }, { data: '8 bytes' }],
    ])('a dry run of a transfer of %s sends nothing and shows what it would send', async (operation, message, body) => {
      const fields = operation === 'import-xml' ? { password: CRED } : {};
      await rig.deploy({
        nodes: [transfer(operation, fields, { dryRun: true })],
        credentials: { a1: { username: 'api-admin', password: 'simulator' }, n1: { password: PASSWORD } },
      });
      const { envelope } = expectSuccess(await rig.run(message));
      expect(envelope).toMatchObject({ dryRun: true, changed: null, status: null, plan: [{ body }] });
      expect(imports()).toBe(0);
    });

    it('a dry run of a transfer reports a missing file', async () => {
      await rig.deploy({ nodes: [transfer('import-xml', { file: { type: 'str', value: join(folder, 'none') } }, { dryRun: true })] });
      expect(expectCaught(await rig.run({ payload: 1 })).error).toMatchObject({ code: 'BAD_INPUT' });
    });
  });

  describe('the status of a transfer', () => {
    it('the status of a transfer shows the transferred size while it runs, and the outcome', async () => {
      Object.assign(rig.sim.state.variants, { largeExport: 3, transferRate: 3000 });
      await rig.deploy({ nodes: [transfer('export-xml', { file: { type: 'str', value: join(folder, 'large.xml') } })] });
      expectSuccess(await rig.run({ payload: 1 }));
      await rig.until(() => rig.statuses().at(-1)?.fill === 'green');
      const texts = rig.statuses().map(({ text }) => text ?? '');
      expect(texts.some((text) => /^(\d+ kB|\d+ MB), \d+ %$/.test(text))).toBe(true);
      for (const text of texts) expect(text.length).toBeLessThan(20);
      for (const { fill } of rig.statuses().slice(0, -1)) expect(fill).toBe('blue');
    });

    it('the status of a transfer shows that a second import waits, from any node', async () => {
      Object.assign(rig.sim.state.variants, { transferMs: 700 });
      await rig.deploy({ nodes: [transfer('import-xml'), transfer('import-xml', {}, { id: 'n2' })] });
      rig.node('n1').receive({ _msgid: 'm1', payload: XML });
      rig.node('n2').receive({ _msgid: 'm2', payload: XML });
      await rig.until(() => rig.statuses('n2').at(-1)?.text === 'waiting');
      expect(imports()).toBe(1);
      rig.node('n2').receive({ _msgid: 'm3', payload: XML });
      await rig.until(() => rig.statuses('n2').at(-1)?.text === '2 of 2 waiting');
      await rig.run({ cancel: 'm3' }, 'n2');
      expect(expectCaught(await rig.ended('m3')).error.code).toBe('ABORTED');
      expectSuccess(await rig.ended('m1'));
      await rig.until(() => rig.statuses('n2').at(-1)?.text === 'working');
      expectSuccess(await rig.ended('m2'));
      expect(imports()).toBe(2);
    });
  });

  describe('msg.cancel during a transfer', () => {
    it('msg.cancel during a transfer leaves the file of an export as it was', async () => {
      const file = join(folder, 'kept.xml');
      writeFileSync(file, 'kept');
      Object.assign(rig.sim.state.variants, { largeExport: 40, transferRate: 4000 });
      await rig.deploy({ nodes: [transfer('export-xml', { file: { type: 'str', value: file } })] });
      rig.node().receive({ _msgid: 'm1', payload: 1 });
      await rig.until(() => rig.statuses().some(({ text }) => text?.includes('%')));
      await rig.run({ cancel: true });
      expect(expectCaught(await rig.ended('m1')).error.code).toBe('ABORTED');
      await rig.until(() => rig.statuses().at(-1)?.text === 'canceled');
      expect([readdirSync(folder), readFileSync(file, 'utf8')]).toEqual([['kept.xml'], 'kept']);
    });

    it('msg.cancel during a transfer gives an import an unknown outcome, as does a deploy', async () => {
      await rig.deploy({ nodes: [transfer('import-xml'), transfer('import-xml', {}, { id: 'n2', failures: 'output' })] });
      rig.sim.fault({ match: ({ path }) => path.endsWith('import-xml'), hang: true, times: 2 });
      const sent = async (count: number): Promise<void> => rig.until(() => imports() === count);
      rig.node().receive({ _msgid: 'm1', payload: XML });
      await sent(1);
      await rig.run({ cancel: 'm1' });
      expect(expectCaught(await rig.ended('m1')).error).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { reason: 'ABORTED' } });

      const complete = vi.spyOn(rig.node() as unknown as { _complete(msg: unknown, error: unknown): void }, '_complete');
      complete.mockImplementation(() => undefined);
      rig.node().receive({ _msgid: 'm2', payload: XML });
      await sent(2);
      await rig.redeploy({ nodes: [transfer('import-xml')] });
      expect(complete).toHaveBeenCalledExactlyOnceWith(
        expect.objectContaining({ _msgid: 'm2' }),
        expect.objectContaining({ code: 'OUTCOME_UNKNOWN' }),
      );
      // The one that was cut off does not keep the next one waiting.
      expectSuccess(await rig.run({ payload: XML }));
    });
  });

  it('gateway-transfer rejects an error page with status 200 as a backup, on the second output', async () => {
    await rig.deploy({ nodes: [backup('run', {}, { failures: 'output' })] });
    rig.sim.fault({ match: ({ path }) => path.endsWith('export-xml'), body: '<html><body>Login</body></html>' });
    const { error, payload } = expectSecondOutput(await rig.run({ payload: 'as it came' }));
    expect([error.code, payload, readdirSync(folder)]).toEqual(['BAD_RESPONSE', 'as it came', []]);
  });

  it('gateway-backup backs up, lists, verifies and restores through one node after the other', async () => {
    const operations = ['run', 'list', 'verify', 'restore'];
    await rig.deploy({ nodes: operations.map((operation) => backup(operation, {}, { id: operation })) });
    const { payload } = expectSuccess(await rig.run({ payload: 1 }, 'run'));
    expect(payload).toMatchObject({ appliance: 'vpn-1', changed: true, previous: null });
    const list = expectSuccess(await rig.run({ payload: 1 }, 'list')).payload as { backup: string }[];
    expect(list).toHaveLength(1);
    // The name stands in what the run gave.
    expect(expectSuccess(await rig.run({ payload }, 'verify')).payload).toMatchObject({ total: 1, ok: 1 });
    expect(expectSuccess(await rig.run({ payload: list[0]?.backup }, 'restore')).envelope).toMatchObject({ restored: list[0]?.backup });
    expect(expectCaught(await rig.run({ payload: '../../etc/passwd' }, 'restore')).error.code).toBe('BAD_INPUT');
  });

  it('gateway-transfer emits no secret of the dialog', async () => {
    const secrets = { password: CRED, passphrase: CRED };
    const file = { type: 'str', value: join(folder, 'one.xml') };
    await rig.deploy({
      nodes: [
        transfer('export-xml', { password: CRED, file }),
        transfer('import-xml', { password: CRED, file }, { id: 'n2' }),
        transfer('export-binary', { password: CRED }, { id: 'n3' }),
        backup('run', secrets, { id: 'n4' }),
        backup('restore', secrets, { id: 'n5' }),
        backup('verify', { passphrase: CRED }, { id: 'n6' }),
      ],
      credentials: {
        a1: { username: 'api-admin', password: 'simulator' },
        ...Object.fromEntries(['n1', 'n2', 'n3', 'n4', 'n5', 'n6'].map((id) => [id, { password: PASSWORD, passphrase: PASSWORD }])),
      },
    });
    for (const id of ['n1', 'n2', 'n3', 'n4', 'n6']) expectSuccess(await rig.run({ payload: 1 }, id));
    expectSuccess(await rig.run({ payload: 'latest' }, 'n5'));
    rig.sim.fault({
      match: ({ path }) => path.endsWith('import-xml'),
      status: 422,
      body: `{"result":{"errors":[{"message":${JSON.stringify(PASSWORD)}}]}}`,
    });
    expect(expectCaught(await rig.run({ payload: 1 }, 'n2')).error.code).toBe('REJECTED');
    const sent = rig.sim.requests.filter(({ path }) => !path.includes('realm_auth'));
    // It went where it belongs, and nowhere else.
    expect(
      sent.filter(({ body }) => String(body).includes(PASSWORD) || String(body).includes(JSON.stringify(PASSWORD))).length,
    ).toBeGreaterThan(3);
    const manifests = readdirSync(folder).filter((name) => name.endsWith('.json'));
    const everything = [
      rig.emitted(),
      ...sent.map(({ path }) => path),
      ...manifests.map((name) => readFileSync(join(folder, name), 'utf8')),
    ];
    for (const form of forms(PASSWORD)) for (const text of everything) expect(text).not.toContain(form);
  });
}

/** What the line below the node says, without a Node-RED. */
export function progressSuite(): void {
  const shown: string[] = [];
  const node = { status: ({ text = '' }: { text?: string }) => shown.push(text) };
  beforeEach(() => {
    vi.useFakeTimers();
    shown.length = 0;
  });
  afterEach(() => vi.useRealTimers());

  const status = (): StatusReporter => new StatusReporter({ _: (key: string) => key } as never, node as never);
  const texts = (...advances: Progress[]): string[] => {
    const of = status();
    const run = {};
    shown.length = 0;
    of.startRun();
    for (const advance of advances) {
      of.updateProgress(run, advance);
      vi.advanceTimersByTime(300);
    }
    return shown.slice(1);
  };

  it('the progress of a transfer shows bytes, and percent if the length is known', () => {
    const moving = (bytes: number, total?: number): Progress => ({ state: 'transferring', bytes, ...(total !== undefined && { total }) });
    expect(texts(moving(1), moving(12_345_678), moving(12_345_678, 28_000_000), moving(1_290_000_000_000, 1_300_000_000_000))).toEqual([
      '1 kB',
      '12 MB',
      '12 MB, 44 %',
      '1290.0 GB, 99 %',
    ]);
    expect(texts({ state: 'waiting' }, moving(0), moving(5, 0))).toEqual(['waiting', 'working', '1 kB']);
    for (const text of shown) expect(text.length).toBeLessThan(20);
  });

  it('the progress of a transfer changes at most four times a second and ignores a late report', () => {
    const of = status();
    const run = {};
    of.startRun();
    for (let bytes = 1; bytes <= 1000; bytes++) {
      of.updateProgress(run, { state: 'transferring', bytes: bytes * 1e6 });
      vi.advanceTimersByTime(1);
    }
    expect(shown.length).toBeLessThanOrEqual(5);
    of.finishRun(run, statusForErrorCode('ABORTED'));
    vi.advanceTimersByTime(300);
    of.updateProgress(run, { state: 'waiting' });
    vi.advanceTimersByTime(300);
    expect(shown.at(-1)).toBe('canceled');
  });
}
