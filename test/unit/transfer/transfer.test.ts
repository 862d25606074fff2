import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Progress } from '../../../src/model/operation';
import { importConfigurationXml } from '../../../src/simulator/configuration-xml';
import {
  startTestSimulator,
  listRequests,
  expectFailure,
  gatewayFor,
  listRequestLines,
  startSimulatorWithGateway,
} from '../../helpers/simulated-appliance';
import { createTemporaryFolder, listNames, AWKWARD_PASSWORD } from '../../helpers/transfer';
import { httpResponse, startRawServer } from '../../helpers/raw-server';
import { eventually } from '../../helpers/eventually';

const XML = '<configuration xmlns="urn:a"><users/></configuration>';
const EXPORT_XML = '/api/v1/system/maintenance/export-xml';
const IMPORT_XML = '/api/v1/system/maintenance/import-xml';
const BINARY = '/api/v1/system/binary-configuration';

function sha256(data: unknown): string {
  return createHash('sha256')
    .update(data as Buffer)
    .digest('hex');
}

describe('transfer.export-xml', () => {
  it('transfer.export-xml returns the document with its check and hash', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { data, envelope } = await gateway.run('transfer.export-xml', { password: AWKWARD_PASSWORD, options: { section: 'users' } });
    expect(String(data)).toMatch(/^<\?xml.*<configuration xmlns=/s);
    expect(envelope).toMatchObject({
      ok: true,
      verified: 'xml',
      changed: null,
      requests: 1,
      sha256: sha256(data),
      bytes: (data as Buffer).length,
    });
    const [call] = listRequests(simulator);
    expect(JSON.parse(call?.body ?? '')).toEqual({ section: 'users', password: AWKWARD_PASSWORD });
    expect(call?.headers.accept).toBe('application/xml, text/xml, */*;q=0.5');
  });

  it.each<[string, string, RegExp]>([
    ['a page of HTML', '<!DOCTYPE html><html><body>Sorry</body></html>', /page of HTML/],
    ['half a document', XML.slice(0, 30), /ends early/],
    ['another document', '<result/>', /root element is result/],
    ['nothing', '', /empty/],
    ['JSON', '{"a":1}', /JSON in place of a configuration/],
    ['half of JSON', '{"a"', /unreadable or truncated/],
  ])('transfer.export-xml refuses %s with status 200', async (_name, body, words) => {
    const server = await startRawServer(() => httpResponse(200, body, { 'content-type': 'application/xml' }));
    const error = await expectFailure(gatewayFor(server).run('transfer.export-xml'));
    expect([error.code, error.cause?.status]).toEqual(['BAD_RESPONSE', 200]);
    expect(error.message).toMatch(words);
    expect(server.requests).toHaveLength(1);
  });

  it('transfer.export-xml reports the message of the appliance, whatever the status', async () => {
    const said = JSON.stringify({ result: { errors: [{ message: 'Export is not possible now' }] } });
    for (const [status, code] of [
      [200, 'APPLIANCE_ERROR'],
      [403, 'FORBIDDEN'],
      [422, 'REJECTED'],
    ] as const) {
      // JSON may start with a line break.
      const server = await startRawServer(() => httpResponse(status, status === 200 ? `\r\n${said}` : said));
      const error = await expectFailure(gatewayFor(server).run('transfer.export-xml'));
      expect([error.code, error.message]).toEqual([code, expect.stringContaining('Export is not possible now')]);
    }
  });

  it('transfer.export-xml starts the export again after a connection fault', async () => {
    let tries = 0;
    const server = await startRawServer((_asked, socket) => {
      if (++tries === 2) return httpResponse(200, XML);
      socket.end(httpResponse(200, XML).slice(0, -20));
      return undefined;
    });
    const { data, envelope } = await gatewayFor(server).run('transfer.export-xml');
    expect([String(data), envelope.retries]).toEqual([XML, 1]);
  });

  it('transfer.export-xml requires the content check, and warns if the response has no length', async () => {
    const respond = (text: string) => (_request: unknown, socket: Socket) =>
      void socket.end(`HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\nconnection: close\r\n\r\n${text}`);
    const complete = gatewayFor(await startRawServer(respond(XML)));
    for (const check of ['hash', 'none'] as const) {
      const { envelope } = await complete.run('transfer.export-xml', { check });
      expect(envelope).toMatchObject({ verified: 'xml', warnings: [expect.stringContaining('without a length')] });
    }
    const cut = gatewayFor(await startRawServer(respond(XML.slice(0, 30))));
    const file = join(createTemporaryFolder(), 'export.xml');
    const error = await expectFailure(cut.run('transfer.export-xml', { check: 'hash', file }));
    expect([error.code, existsSync(file)]).toEqual(['BAD_RESPONSE', false]);
    const plain = gatewayFor(await startRawServer(respond(XML), { plain: true }));
    expect((await plain.run('transfer.export-xml', { check: 'hash' })).envelope).toMatchObject({ verified: 'none' });
  });

  it('transfer.export-xml skips the check and the hash if the input disables them', async () => {
    const server = await startRawServer(() => httpResponse(200, '<half'));
    const gateway = gatewayFor(server);
    const hashed = await gateway.run('transfer.export-xml', { check: 'hash' });
    expect(hashed.envelope).toMatchObject({ verified: 'none', sha256: sha256(Buffer.from('<half')) });
    const plain = await gateway.run('transfer.export-xml', { check: 'none' });
    expect(plain.envelope).toMatchObject({ verified: 'none' });
    expect(plain.envelope).not.toHaveProperty('sha256');
  });
});

describe('transfer.export-binary', () => {
  it('transfer.export-binary sends the password in the body and never in the URL', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { envelope } = await gateway.run('transfer.export-binary', { export: 'user_config', password: AWKWARD_PASSWORD });
    expect(envelope.verified).toBe('zip');
    expect(listRequestLines(simulator)).toEqual([`POST ${BINARY}?export=user_config`]);
    expect(JSON.parse(listRequests(simulator)[0]?.body ?? '')).toEqual({ Password: AWKWARD_PASSWORD });
    expect(listRequests(simulator)[0]?.headers.accept).toBe('text/html, */*;q=0.5');
  });

  it('transfer.export-binary refuses truncated content with status 200', async () => {
    const { gateway } = await startSimulatorWithGateway({ variants: { binaryCutShort: true } });
    const error = await expectFailure(gateway.run('transfer.export-binary'));
    expect([error.code, error.message]).toEqual(['BAD_RESPONSE', expect.stringMatching(/cut short|ends early/)]);
  });
});

describe('older releases', () => {
  it.each([404, 405] as const)(
    'an export uses GET if an older release refuses POST with %i, to a message, a file and a backup',
    async (binaryExportByPost) => {
      const { simulator, gateway } = await startSimulatorWithGateway({ variants: { binaryExportByPost } });
      const { data, envelope } = await gateway.run('transfer.export-binary', { export: 'user_config' });
      expect(String(data)).toMatch(/^UEsDB/);
      expect(envelope).toMatchObject({ ok: true, verified: 'zip', requests: 2, retries: 0, status: 200 });
      expect(listRequestLines(simulator)).toEqual([`POST ${BINARY}?export=user_config`, `GET ${BINARY}?export=user_config`]);
      const place = createTemporaryFolder();
      await gateway.run('transfer.export-binary', { file: join(place, 'whole') });
      await gateway.run('backup.run', { folder: place, what: 'binary' });
      expect(listNames(place)).toHaveLength(3);
    },
  );

  it('an export never puts a password into the URL', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { binaryExportByPost: 405 } });
    const error = await expectFailure(gateway.run('transfer.export-binary', { password: AWKWARD_PASSWORD }));
    expect([error.code, error.cause?.status, error.message]).toEqual([
      'APPLIANCE_ERROR',
      405,
      expect.stringContaining('export without a password'),
    ]);
    expect(listRequestLines(simulator)).toEqual([`POST ${BINARY}`]);
  });

  it('an export tries POST and then GET, and reports the more specific of two errors', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: ({ path }) => path === BINARY, times: 2, status: 404 });
    expect((await expectFailure(gateway.run('transfer.export-binary'))).code).toBe('NOT_FOUND');
    simulator.fault({ match: ({ method }) => method === 'POST', status: 405 });
    simulator.fault({ match: ({ method }) => method === 'GET', status: 403 });
    expect((await expectFailure(gateway.run('transfer.export-binary'))).code).toBe('FORBIDDEN');
    expect(listRequestLines(simulator)).toHaveLength(4);
  });

  it('an XML export from a release without XML export suggests the binary export', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { xmlEndpoints: false } });
    const error = await expectFailure(gateway.run('transfer.export-xml'));
    expect([error.code, error.message]).toEqual(['NOT_FOUND', expect.stringContaining('take binary')]);
    expect((await expectFailure(gateway.run('backup.run', { folder: createTemporaryFolder() }))).message).toContain('take binary');
    expect(listRequestLines(simulator).some((line) => line.startsWith('GET /api/v1/system/maintenance'))).toBe(false);
    expect((await expectFailure(gateway.run('transfer.import-xml', { xml: XML }))).code).toBe('NOT_FOUND');
  });

  it('an import without a password is accepted by older releases only with an empty form part', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { importNeedsPassword: true } });
    const { data: xml } = await gateway.run('transfer.export-xml');
    await gateway.run('transfer.import-xml', { xml });
    expect(listRequests(simulator).at(-1)?.body).toMatch(/name="password"\r\n\r\n\r\n--/);
  });
});

describe('imports', () => {
  it('an import restores what was exported, with any password', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { data: xml } = await gateway.run('transfer.export-xml', { password: AWKWARD_PASSWORD });
    const { data: binary } = await gateway.run('transfer.export-binary');
    const outcome = await gateway.run('transfer.import-xml', { xml, password: AWKWARD_PASSWORD });
    expect(outcome.envelope).toMatchObject({ ok: true, changed: true, requests: 1 });
    await gateway.run('transfer.import-binary', { data: binary, import: 'full' });
    // The simulator read its document with this password.
    expect(() => importConfigurationXml(simulator.state.configuration, String(xml), AWKWARD_PASSWORD)).not.toThrow();
    expect(listRequestLines(simulator).slice(2)).toEqual([`POST ${IMPORT_XML}`, `PUT ${BINARY}?import=full`]);
  });

  it('an import sends the form with file and password, or base64 text with its type', async () => {
    const server = await startRawServer(() => httpResponse(200, '{"result":{"info":[{"message":"ok"}]}}'));
    const gateway = gatewayFor(server);
    await gateway.run('transfer.import-xml', { xml: XML, password: AWKWARD_PASSWORD });
    await gateway.run('transfer.import-binary', { data: 'QUJD\nREVG' });
    const [form, text] = server.requests;
    expect(form?.head).toMatch(/content-type: multipart\/form-data; ?boundary=/i);
    expect(form?.body).toContain(`name="file"; filename="configuration.xml"\r\nContent-Type: text/xml\r\n\r\n${XML}\r\n`);
    expect(form?.body).toContain(`name="password"\r\n\r\n${AWKWARD_PASSWORD}\r\n`);
    expect([text?.path, text?.body]).toEqual([BINARY, 'QUJD\nREVG']);
    expect(text?.head).toMatch(/content-type: text\/html; charset=utf-8/i);
  });

  it.each([422, 400, 500, 200] as const)('an import reports the message of the appliance with status %s', async (namedErrorStatus) => {
    const { gateway } = await startSimulatorWithGateway({ variants: { namedErrorStatus, namedErrorList: 'info' } });
    const error = await expectFailure(gateway.run('transfer.import-binary', { data: 'no base64!' }));
    expect([error.code, error.message]).toEqual(['REJECTED', expect.stringContaining('Failed to extract configuration files')]);
  });

  it('a failed import is never sent again', async () => {
    const server = await startRawServer((_asked, socket) => void socket.destroy());
    const error = await expectFailure(gatewayFor(server).run('transfer.import-xml', { xml: XML }));
    expect([error.code, error.cause?.reason]).toEqual(['OUTCOME_UNKNOWN', 'CONNECTION']);
    expect(server.requests).toHaveLength(1);
  });

  it('an import opens its source again to repeat the request after a 401', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { data: xml } = await gateway.run('transfer.export-xml');
    simulator.expireKeys();
    const { envelope } = await gateway.run('transfer.import-xml', { xml });
    expect(envelope).toMatchObject({ ok: true, logins: 1, requests: 2 });
  });

  it('an import requires exactly one of value and file', async () => {
    const gateway = gatewayFor(await startRawServer(() => undefined));
    for (const input of [{}, { xml: XML, file: '/tmp/a' }, { xml: Buffer.alloc(0) }]) {
      expect((await expectFailure(gateway.run('transfer.import-xml', input))).code).toBe('BAD_INPUT');
    }
  });

  it('a dry run of an import shows the request with a masked password', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { envelope } = await gateway.run('transfer.import-xml', { xml: XML, password: AWKWARD_PASSWORD }, { dryRun: true });
    expect(envelope.plan).toEqual([{ method: 'POST', path: IMPORT_XML, body: { file: `${XML.length} bytes`, password: '••••' } }]);
    expect(listRequestLines(simulator)).toEqual([]);
  });

  it('imports on one appliance run one after the other, and the second reports that it waits', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { transferMs: 150 } });
    const { data: xml } = await gateway.run('transfer.export-xml');
    const told: Progress[] = [];
    const toldOfFirst: Progress[] = [];
    const first = gateway.run('transfer.import-xml', { xml }, { onProgress: (advance) => toldOfFirst.push(advance) });
    const second = gateway.run('transfer.import-xml', { xml }, { onProgress: (advance) => told.push(advance) });
    const third = new AbortController();
    const cancelled = expectFailure(gateway.run('transfer.import-xml', { xml }, third.signal));
    await eventually(() => expect(told).toEqual([{ state: 'waiting' }]));
    third.abort();
    expect(await cancelled).toMatchObject({
      code: 'ABORTED',
      message: 'Canceled while waiting for another import to end. Nothing was sent.',
    });
    await first;
    expect(listRequestLines(simulator)).toHaveLength(2);
    await second;
    expect([toldOfFirst, told]).toEqual([[], [{ state: 'waiting' }, { state: 'transferring', bytes: 0 }]]);
    expect(listRequestLines(simulator)).toHaveLength(3);
    expect(simulator.state.transfer.waiting).toBe(0);
  });
});

it('no transfer operation shows its password anywhere', async () => {
  const simulator = await startTestSimulator();
  const gateway = gatewayFor(simulator);
  const echo = JSON.stringify({ result: { errors: [{ message: `Refused: ${AWKWARD_PASSWORD}` }] } });
  const shown: unknown[] = [];
  const xml = (await gateway.run('transfer.export-xml', { password: AWKWARD_PASSWORD })).data;
  shown.push((await gateway.run('transfer.export-binary', { password: AWKWARD_PASSWORD })).envelope);
  shown.push(await gateway.run('transfer.import-xml', { xml, password: AWKWARD_PASSWORD }));
  for (const operation of ['export-xml', 'import-xml', 'export-binary']) {
    simulator.fault({ match: ({ path }) => path.startsWith('/api/v1/system/'), status: 422, body: echo });
    const input = operation === 'import-xml' ? { xml } : {};
    const error = await expectFailure(gateway.run(`transfer.${operation}`, { ...input, password: AWKWARD_PASSWORD }));
    expect(error.code).toBe('REJECTED');
    shown.push(error.message, error.cause);
  }
  const forms = [
    AWKWARD_PASSWORD,
    JSON.stringify(AWKWARD_PASSWORD).slice(1, -1),
    encodeURIComponent(AWKWARD_PASSWORD),
    Buffer.from(AWKWARD_PASSWORD).toString('base64'),
  ];
  const text = shown.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('\n');
  for (const form of forms) expect(text).not.toContain(form);
  for (const { path } of simulator.requests) expect(decodeURIComponent(path)).not.toContain(AWKWARD_PASSWORD);
  expect(listRequestLines(simulator)).toContain(`POST ${EXPORT_XML}`);
});
