import { missingOk, removeIfThere } from '../change/missing-ok';
import { badInput } from '../model/error';
import { isObject, type JsonObject, kindOf } from '../model/json';
import { area, content, op, path, required, subject, text } from '../model/operation';
import type { Content } from '../model/call';
import { jsonText } from '../model/json-text';
import { apiPath } from '../model/path';
import type { Request } from '../model/request';
import { ours, sentence } from '../model/sentence';
import { readQuery } from './query';

const where = required(
  path('Path', 'Path below `/api/v1/`, an `href` of the appliance, or an array of raw names.', {
    example: 'system/status/overview',
    names: 'path',
  }),
);
const query = content(
  'Query',
  'Query of the request: an object such as `{ "config-type": "system" }`, `true` for a flag; or text, as it stands.',
  {
    guard: true,
    example: { 'config-type': 'system' },
  },
);
const body = content('Body', 'An object, sent as JSON; or text or a Buffer, with its content type.');
const contentType = text('Content type', 'Type of a body that is text or a Buffer, such as `text/plain`.', {
  guard: true,
  example: 'text/plain',
  known: ['text/plain', 'application/xml', 'application/json', 'application/octet-stream'],
  check: (value) =>
    /^[\w.+-]+\/[\w.+-]+(?:; ?[\w.-]+="?[\w.:+-]+"?)*$/.test(value) ? undefined : 'is no content type such as text/plain; charset=utf-8.',
});

type Where = { path: string | string[]; query?: JsonObject | string | Buffer };

function requestTo({ path, query }: Where, base: string, method: Request['method'], more: { body?: JsonObject } = {}): Request {
  const asked = query === undefined ? undefined : readQuery(query);
  return { method, path: apiPath(path, new URL(base).pathname.replace(/\/$/, '')), ...asked, ...more };
}

interface Sent {
  readonly body?: JsonObject | string | Buffer;
  readonly 'content-type'?: string;
}

/** The body of a write, as JSON or as it is. Errors: `BAD_INPUT` for a type that does not fit. */
function bodyOf({ body, 'content-type': type }: Sent): { json?: JsonObject; content?: Content } {
  if (body === undefined) {
    if (type !== undefined) throw badInput('content-type is given, but there is no body.');
    return {};
  }
  if (isObject(body)) {
    if (type !== undefined && !/^application\/([\w.-]+\+)?json(?:;|$)/i.test(type))
      throw badInput(sentence`content-type is ${type}, but body is an object, which is sent as JSON. Give the body as text or a Buffer.`);
    return type === undefined ? { json: body } : { content: { type, bytes: Buffer.from(jsonText(body)) } };
  }
  if (type === undefined)
    throw badInput(sentence`content-type is missing: body is ${ours(kindOf(body))}, of which it has to be told what it is.`);
  return { content: { type, bytes: Buffer.isBuffer(body) ? body : Buffer.from(body, 'utf8') } };
}

const write = (method: 'POST' | 'PUT') =>
  op({
    effect: 'destroy',
    label: method === 'POST' ? 'Post' : 'Put',
    help: `Sends a ${method} to any path of the interface. Nobody here knows what it does to the appliance.`,
    summary: { done: `Sent a ${method} to __path__.`, 'planned-one': `Would send a ${method} to __path__.` },
    data: 'result, or the document that came',
    fields: { path: where, query, body: subject(body), 'content-type': contentType },
    run: async (input, call) => {
      const { json, content: other } = bodyOf(input);
      return call.writeAny(requestTo(input, call.settings.base, method, json && { body: json }), other);
    },
    example: {
      input: { path: 'license/license-key', query: { action: 'install' }, body: { 'license-key': 'ABCD-1234' } },
      request: `${method} /api/v1/license/license-key?action=install`,
      body: { 'license-key': 'ABCD-1234' },
    },
  });

/** Whatever else the appliance has (field-notes.md, "Paths beyond the description"). */
export const request = area({
  name: 'request',
  label: 'Gateway request',
  help: 'Sends a request to any path of the interface below `/api/v1/`, with the same login, limits and guards.',
  icon: 'gateway-request.svg',
  color: '#46A5CE',
  operations: {
    get: op({
      effect: 'read',
      label: 'Get',
      help: 'Reads any path of the interface. An answer of nothing is an empty object.',
      summary: { done: 'Read __path__.', found: 'Read __path__: __n__ entries.', 'found-one': 'Read __path__: 1 entry.' },
      data: 'the document, else text or a Buffer',
      fields: { path: subject(where), query },
      run: async (input, call) => call.readAny(requestTo(input, call.settings.base, 'GET')),
      example: { input: { path: 'system/status/overview' }, request: 'GET /api/v1/system/status/overview' },
    }),
    post: write('POST'),
    put: write('PUT'),
    delete: op({
      effect: 'destroy',
      label: 'Delete',
      help: 'Sends a DELETE to any path of the interface. What is there is gone for good.',
      summary: { done: 'Deleted __path__.', unchanged: '__path__ was not there.', 'planned-one': 'Would delete __path__.' },
      data: 'result, or the document that came',
      fields: { path: subject(where), query, 'missing-ok': missingOk },
      run: async ({ 'missing-ok': missing = false, ...input }, call) => {
        const request = requestTo(input, call.settings.base, 'DELETE');
        const send = (): Promise<unknown> => call.writeAny(request);
        return missing ? removeIfThere(request, call, send) : send();
      },
      example: {
        input: { path: 'profiler/endpoints/02:00:5e:10:00:01' },
        request: 'DELETE /api/v1/profiler/endpoints/02%3A00%3A5e%3A10%3A00%3A01',
      },
    }),
  },
});
