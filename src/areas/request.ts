import { allowMissingField, deleteIfExists } from '../change/if-exists';
import { badInput } from '../model/error';
import { isObject, type JsonObject, describeValueKind } from '../model/json';
import { defineArea, contentField, defineOperation, pathField, requiredField, payloadField, textField } from '../model/operation';
import type { RawBody } from '../model/operation-context';
import { toJsonText } from '../model/json-text';
import { toApiPath } from '../model/path';
import type { Request } from '../model/request';
import { trusted, safeMessage } from '../model/safe-message';
import { parseQuery } from './query';

const resourcePathField = requiredField(
  pathField('Path', 'Path below `/api/v1/`, an `href` of the appliance, or an array of raw names.', {
    example: 'system/status/overview',
    names: 'path',
  }),
);
const queryField = contentField(
  'Query',
  'Query of the request: an object such as `{ "config-type": "system" }`, `true` for a flag; or text, sent unchanged.',
  {
    guard: true,
    example: { 'config-type': 'system' },
  },
);
const bodyField = contentField('Body', 'An object, sent as JSON; or text or a Buffer, with its content type.');
const contentTypeField = textField('Content type', 'Type of a body that is text or a Buffer, such as `text/plain`.', {
  guard: true,
  example: 'text/plain',
  known: ['text/plain', 'application/xml', 'application/json', 'application/octet-stream'],
  check: (value) =>
    /^[\w.+-]+\/[\w.+-]+(?:; ?[\w.-]+="?[\w.:+-]+"?)*$/.test(value)
      ? undefined
      : 'is not a content type such as text/plain; charset=utf-8.',
});

type RequestTarget = { path: string | string[]; query?: JsonObject | string | Buffer };

function toRequest({ path, query }: RequestTarget, base: string, method: Request['method'], extra: { body?: JsonObject } = {}): Request {
  const parsedQuery = query === undefined ? undefined : parseQuery(query);
  return { method, path: toApiPath(path, new URL(base).pathname.replace(/\/$/, '')), ...parsedQuery, ...extra };
}

interface RequestBody {
  readonly body?: JsonObject | string | Buffer;
  readonly 'content-type'?: string;
}

/** Reads the body of a write as JSON or raw content. Errors: `BAD_INPUT` for a content type that does not fit the body. */
function parseBody({ body, 'content-type': type }: RequestBody): { json?: JsonObject; content?: RawBody } {
  if (body === undefined) {
    if (type !== undefined) throw badInput('content-type is set, but body is missing. Nothing was sent.');
    return {};
  }
  if (isObject(body)) {
    if (type !== undefined && !/^application\/([\w.-]+\+)?json(?:;|$)/i.test(type))
      throw badInput(
        safeMessage`content-type is ${type}, but body is an object, which is sent as JSON. Give the body as text or a Buffer. Nothing was sent.`,
      );
    return type === undefined ? { json: body } : { content: { type, bytes: Buffer.from(toJsonText(body)) } };
  }
  if (type === undefined)
    throw badInput(
      safeMessage`content-type is missing, and body is ${trusted(describeValueKind(body))}. Give its content type. Nothing was sent.`,
    );
  return { content: { type, bytes: Buffer.isBuffer(body) ? body : Buffer.from(body, 'utf8') } };
}

const writeOperation = (method: 'POST' | 'PUT') =>
  defineOperation({
    effect: 'destroy',
    label: method === 'POST' ? 'Post' : 'Put',
    help: `Sends a ${method} to any path of the interface. This package does not know its effect on the appliance.`,
    summary: { done: `Sent a ${method} to __path__.`, 'planned-one': `Would send a ${method} to __path__.` },
    data: 'result, or the response document',
    fields: { path: resourcePathField, query: queryField, body: payloadField(bodyField), 'content-type': contentTypeField },
    run: async (input, call) => {
      const { json, content: rawContent } = parseBody(input);
      return call.writeAny(toRequest(input, call.settings.base, method, json && { body: json }), rawContent);
    },
    example: {
      input: { path: 'license/license-key', query: { action: 'install' }, body: { 'license-key': 'ABCD-1234' } },
      request: `${method} /api/v1/license/license-key?action=install`,
      body: { 'license-key': 'ABCD-1234' },
    },
  });

/** Requests to any path of the API (field-notes.md, "Paths beyond the description"). */
export const requestArea = defineArea({
  name: 'request',
  label: 'Gateway request',
  help: 'Sends a request to any path of the interface below `/api/v1/`, with the same login, limits and guards.',
  icon: 'gateway-request.svg',
  color: '#46A5CE',
  operations: {
    get: defineOperation({
      effect: 'read',
      label: 'Get',
      help: 'Reads any path of the interface. An empty response becomes an empty object.',
      summary: { done: 'Read __path__.', found: 'Read __path__: __n__ entries.', 'found-one': 'Read __path__: 1 entry.' },
      data: 'the document, else text or a Buffer',
      fields: { path: payloadField(resourcePathField), query: queryField },
      run: async (input, call) => call.readAny(toRequest(input, call.settings.base, 'GET')),
      example: { input: { path: 'system/status/overview' }, request: 'GET /api/v1/system/status/overview' },
    }),
    post: writeOperation('POST'),
    put: writeOperation('PUT'),
    delete: defineOperation({
      effect: 'destroy',
      label: 'Delete',
      help: 'Sends a DELETE to any path of the interface. The deletion is permanent.',
      summary: { done: 'Deleted __path__.', unchanged: '__path__ did not exist.', 'planned-one': 'Would delete __path__.' },
      data: 'result, or the response document',
      fields: { path: payloadField(resourcePathField), query: queryField, 'missing-ok': allowMissingField },
      run: async ({ 'missing-ok': missing = false, ...input }, call) => {
        const request = toRequest(input, call.settings.base, 'DELETE');
        const send = (): Promise<unknown> => call.writeAny(request);
        return missing ? deleteIfExists(request, call, send) : send();
      },
      example: {
        input: { path: 'profiler/endpoints/02:00:5e:10:00:01' },
        request: 'DELETE /api/v1/profiler/endpoints/02:00:5e:10:00:01',
      },
    }),
  },
});
