import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { operations } from '../../../src/areas';
import { GatewayError } from '../../../src/model/error';
import { ERROR_CODES } from '../../../src/model/error-codes';
import { gatewayFor } from '../../helpers/simulated-appliance';
import { httpResponse, startRawServer, type RawAnswer, type RawServer } from '../../helpers/raw-server';

/** Another one, more of them, or one that failed: `GATEWAY_SEED=… GATEWAY_RUNS=… npx vitest run test/unit/model/properties.test.ts`. */
const seed = Number(process.env['GATEWAY_SEED'] ?? 20_261_121);
const RUNS = { numRuns: Number(process.env['GATEWAY_RUNS'] ?? 25), seed };

/** Places on this machine are not for any text that comes to mind. */
const PLACES = new Set(['file', 'folder', 'host', 'port', 'other']);
const SEGMENT = String.raw`(?:[A-Za-z0-9_~-]|%[0-9A-F]{2})(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*`;
/** `gateway-request` keeps the characters that RFC 3986 allows in a segment. */
const REQUEST_SEGMENT = String.raw`(?:[A-Za-z0-9_~:@!$&'()*+,;=-]|%[0-9A-F]{2})(?:[A-Za-z0-9._~:@!$&'()*+,;=-]|%[0-9A-F]{2})*`;
const REQUEST_LINE = new RegExp(String.raw`^(?:GET|POST|PUT|DELETE) /api/v1(?:/${REQUEST_SEGMENT})+/?(?:\?[!-~]*)? HTTP/1\.1$`);
/** The URL rules of the interface: below `/api/v1/`, every segment encoded once, nothing else on the line. */
const LINE = new RegExp(String.raw`^(?:GET|POST|PUT|DELETE) /api/v1(?:/${SEGMENT})+/?(?:\?[!-~]*)? HTTP/1\.1$`);

const folder = mkdtempSync(join(tmpdir(), 'gateway-properties-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const HOSTILE = [
  '..',
  '../..',
  '%2e%2e/',
  '/api/v1/../../x',
  'https://elsewhere.example.com/x',
  '//elsewhere.example.com',
  'a\r\nHost: elsewhere.example.com',
  'a b?c#d',
  '\u0000',
  '\ud800',
  '{{constructor}}',
  '{{#a}}{{/a}}',
  '__proto__',
  '*',
  '',
  ' ',
  '9'.repeat(400),
  'é'.repeat(300),
];
const text = fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'binary', maxLength: 40 }));
const value: fc.Arbitrary<unknown> = fc.oneof(
  text,
  fc.array(text, { maxLength: 4 }),
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constantFrom(null, undefined, Buffer.from('x'), new Map(), new Date(0), Symbol('s'), 1n),
  fc.dictionary(text, fc.oneof(text, fc.jsonValue({ maxDepth: 2 })), { maxKeys: 4 }),
  fc.array(fc.dictionary(text, text, { maxKeys: 3 }), { maxLength: 3 }),
  fc.anything({ maxDepth: 2 }),
);

const unhandled: unknown[] = [];
const note = (fault: unknown): void => void unhandled.push(fault);
beforeAll(() => void process.on('unhandledRejection', note));
afterAll(() => void process.off('unhandledRejection', note));
afterEach(() => expect(unhandled.splice(0)).toEqual([]));

// Those that wait for a person, undo, or look into a folder alone, have nothing of an appliance here.
const table = [...operations].filter(([name]) => !/^login\.|^journal\.|^certificates\.served$/.test(name));

/** Ends in a value, or in the one error that the library throws; `problem` is what is wrong with that. */
async function outcome(run: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (!(error instanceof GatewayError)) return `It threw ${String(error)}`;
    if (!ERROR_CODES.includes(error.code)) return `The code is ${error.code}`;
    if (error.cause?.ok !== false || typeof error.cause.summary !== 'string') return 'There is no envelope, or it says that all is well.';
    if (/Unexpected fault/.test(error.message)) return error.message;
    return undefined;
  }
}

function strange({ requests }: RawServer, name: string): string[] {
  const line = name.startsWith('request.') ? REQUEST_LINE : LINE;
  return requests.map(({ head }) => head.split('\r\n')[0] ?? '').filter((text) => !line.test(text));
}

const fine: RawAnswer = ({ method }) => (method === 'DELETE' ? httpResponse(204) : httpResponse(200, '{"result":{"info":[]}}'));

describe.each(table)('Random input of %s', (name, { fields, example }) => {
  const given = 'folder' in example.input ? { ...example.input, folder } : example.input;
  const free = Object.keys(fields).filter((field) => !PLACES.has(field));

  it.runIf(free.length > 0)(
    'a run with random input is accepted or rejected, and never sends a request that violates the URL rules',
    async () => {
      const server = await startRawServer(fine);
      const gateway = gatewayFor(server);
      const some = fc.record(Object.fromEntries(free.map((field) => [field, value])), { requiredKeys: [] });
      await fc.assert(
        fc.asyncProperty(some, fc.boolean(), fc.boolean(), async (odd, dryRun, rest) => {
          server.requests.length = 0;
          const input = rest ? { ...given, ...odd } : odd;
          expect(await outcome(() => gateway.run(name, input, { dryRun, onPart: () => undefined }))).toBeUndefined();
          expect(strange(server, name)).toEqual([]);
        }),
        RUNS,
      );
    },
  );

  it('a run with random input has an outcome for any response of the appliance', async () => {
    let answer = '';
    const server = await startRawServer(() => answer);
    const gateway = gatewayFor(server);
    const json = fc.oneof(
      fc.jsonValue({ maxDepth: 4 }),
      fc.constantFrom({}, [], null, { result: 1 }, { result: { errors: 'x', info: [1] } }),
    );
    const body = fc.oneof(
      json.map((document) => JSON.stringify(document)),
      fc.tuple(json, fc.nat(40)).map(([document, length]) => JSON.stringify(document).slice(0, length)),
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.constantFrom('<html>', '', '[', '{"a":{"href":"https://elsewhere.example.com/api/v1/configuration/x"}}', '{"a":{"href":"/../x"}}'),
    );
    // Of 5xx reads are repeated, with pauses: test/process/faults.test.ts.
    const status = fc.constantFrom(200, 200, 200, 201, 204, 206, 302, 400, 403, 404, 409, 422);
    const type = fc.constantFrom('application/json', 'text/html', 'application/octet-stream', '', 'text/plain; charset=x');
    await fc.assert(
      fc.asyncProperty(status, type, body, async (code, contentType, content) => {
        server.requests.length = 0;
        answer = httpResponse(code, code === 204 ? '' : content, { 'content-type': contentType });
        expect(await outcome(() => gateway.run(name, given, { onPart: () => undefined }))).toBeUndefined();
        expect(strange(server, name)).toEqual([]);
      }),
      RUNS,
    );
  });
});
