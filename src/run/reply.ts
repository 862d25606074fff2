import { createBadResponseError, parseObject } from '../http/parse-object';
import { GatewayError } from '../model/error';
import type { Reply } from '../http/exchange';
import type { ErrorCode } from '../model/error-codes';
import { createEmptyMessageLists, type ResultMessageLists, type ResultMessage } from '../model/envelope';
import { isObject, type JsonObject } from '../model/json';
import { trusted, safeMessage } from '../model/safe-message';

/** Messages that the interface names. They are refusals whatever status and list carries them (contract, "Errors"). */
const NAMED_REFUSAL_PATTERNS = [
  /Invalid import mode/i,
  /Failed to extract configuration files/i,
  /not part of an Active[-/ ]Passive cluster/i,
];

/** One pattern for all of them, because each message of each response is compared. */
const NAMED_REFUSAL = new RegExp(NAMED_REFUSAL_PATTERNS.map(({ source }) => source).join('|'), 'i');

const CODE_BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'INVALID_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  412: 'CONFLICT',
  422: 'REJECTED',
};

const MESSAGE_BY_STATUS: Readonly<Record<number, string>> = {
  400: 'The appliance calls the request invalid (400)',
  401: 'The appliance refused a key that it had issued just now (401). Check that the account may use the REST interface',
  403: 'The appliance forbids this to the administrator account (403). Give its role the permission, or use another account',
  404: 'The appliance has nothing there (404). Check name and path',
  412: 'Somebody else has changed the resource since it was read (412). Nothing was written. Run it again',
  422: 'The appliance refused the change (422)',
  500: 'The appliance’s REST server is not responding (500). It may be restarting; try again later',
};

/**
 * The document of a successful read; empty for 204. Errors: by status as in the contract's table, `BAD_RESPONSE` for a body that is not a
 * JSON object.
 */
export function readDocument(reply: Reply): JsonObject {
  assertSuccessStatus(reply);
  // 204 says that there is nothing to read.
  if (reply.status === 204) return {};
  const document = parseObject(reply);
  if (isObject(document['result'])) assertNoResultErrors(reply.status, readMessageLists(reply, document['result']));
  return document;
}

/**
 * The result lists of a successful write: 200, 201 and 204, with and without a body (appliance-api.md, "Result envelope"). Errors: by
 * status, or `BAD_RESPONSE` for a body that is not a result envelope.
 */
export function readWriteResult(reply: Reply): ResultMessageLists {
  assertSuccessStatus(reply);
  if (reply.status === 204 || reply.body.text().trim() === '') return createEmptyMessageLists();
  assertNoDocumentedRefusal(reply.status, reply.body.text());
  const lists = readMessageLists(reply, parseObject(reply)['result']);
  assertNoResultErrors(reply.status, lists);
  return lists;
}

/** A 403 without a result envelope: some releases answer an expired key like this, others a missing permission. */
export function isForbiddenWithoutEnvelope(reply: Reply): boolean {
  if (reply.status !== 403) return false;
  try {
    return !isObject(parseObject(reply)['result']);
  } catch {
    return true;
  }
}

export function assertSuccessStatus(reply: Reply): void {
  const { status } = reply;
  if (status >= 200 && status < 300) return;
  const result = readErrorLists(reply);
  const namedMessage = findNamedMessageInResult(result) ?? findNamedMessageInText(reply.body.text());
  const applianceText = joinMessages(result) || namedMessage;
  const code = namedMessage ? 'REJECTED' : (CODE_BY_STATUS[status] ?? 'APPLIANCE_ERROR');
  const message = trusted(namedMessage ? 'The appliance refused' : (MESSAGE_BY_STATUS[status] ?? createFallbackMessage(status)));
  throw new GatewayError(code, applianceText ? safeMessage`${message}: ${applianceText}` : safeMessage`${message}.`, {
    status,
    result,
    sent: true,
    ...(status === 412 && { extra: { changed: false } }),
  });
}

function createFallbackMessage(status: number): string {
  if (status >= 300 && status < 400)
    return `The appliance redirects elsewhere (${status}), which is not followed because the key goes to its own address only. Check the URL`;
  return `The appliance answered with status ${status}`;
}

export function assertNoResultErrors(status: number, result: ResultMessageLists): void {
  const refusal = findNamedMessageInResult(result);
  if (refusal) throw new GatewayError('REJECTED', safeMessage`The appliance refused: ${refusal}`, { status, result, sent: true });
  if (result.errors.length > 0) {
    throw new GatewayError('APPLIANCE_ERROR', safeMessage`The appliance reported an error: ${joinMessages(result)}`, {
      status,
      result,
      sent: true,
    });
  }
}

/** Errors: `REJECTED` for one of the named messages in a text that is not JSON. */
export function assertNoDocumentedRefusal(status: number, text: string): void {
  const namedMessage = findNamedMessageInText(text);
  if (namedMessage)
    throw new GatewayError('REJECTED', safeMessage`The appliance refused: ${namedMessage}`, {
      status,
      result: createEmptyMessageLists(),
      sent: true,
    });
}

/** The interface description does not say which body carries its named messages, so a page or plain text is searched as well. */
function findNamedMessageInText(text: string): string | undefined {
  if (text.trimStart().startsWith('{')) return undefined;
  for (const pattern of NAMED_REFUSAL_PATTERNS) {
    const found = new RegExp(`(?:Error - )?${pattern.source}[^<\\n]{0,200}`, 'i').exec(text.slice(0, 65_536));
    if (found) return found[0].trim();
  }
  return undefined;
}

function findNamedMessageInResult({ info, warnings, errors }: ResultMessageLists): string | undefined {
  return findNamedMessage(errors) ?? findNamedMessage(warnings) ?? findNamedMessage(info);
}

function findNamedMessage(messages: readonly ResultMessage[]): string | undefined {
  for (const { message } of messages) if (NAMED_REFUSAL.test(message)) return message;
  return undefined;
}

/** Only non-empty lists may be present; entries are `{ message }`. */
export function readMessageLists(reply: Reply, result: unknown): ResultMessageLists {
  if (!isObject(result)) throw createBadResponseError(reply, safeMessage`The appliance answered ${reply.status} without a result.`);
  return {
    info: readMessages(reply, result['info']),
    warnings: readMessages(reply, result['warnings']),
    errors: readMessages(reply, result['errors']),
  };
}

function readMessages(reply: Reply, list: unknown): ResultMessage[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw createBadResponseError(reply, safeMessage`The appliance answered a result whose lists are not lists.`);
  return list.map((entry: unknown) => {
    if (typeof entry === 'string') return { message: entry };
    if (isObject(entry) && typeof entry['message'] === 'string') return { message: entry['message'] };
    throw createBadResponseError(reply, safeMessage`The appliance answered a result with a message that is not text.`);
  });
}

// The body of an error may be anything. An unreadable body must not hide the status.
function readErrorLists(reply: Reply): ResultMessageLists {
  try {
    const document = parseObject(reply);
    return readMessageLists(reply, document['result']);
  } catch {
    return createEmptyMessageLists();
  }
}

function joinMessages({ info, warnings, errors }: ResultMessageLists): string {
  const list = errors.length > 0 ? errors : [...warnings, ...info];
  return list.map(({ message }) => message).join(' ');
}

/** The error for a JSON response in place of a configuration: the appliance's own error, if it reports one. */
export function createUnexpectedContentError(reply: Reply): GatewayError {
  readDocument(reply);
  return new GatewayError('BAD_RESPONSE', safeMessage`The appliance sent JSON in place of a configuration.`, {
    status: reply.status,
    sent: true,
  });
}
