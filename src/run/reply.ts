import { badResponse, parseObject } from '../http/document';
import { GatewayError } from '../model/error';
import type { Reply } from '../http/exchange';
import type { ErrorCode } from '../model/error-codes';
import { emptyResult, type ResultLists, type Message } from '../model/envelope';
import { isObject, type JsonObject } from '../model/json';
import { ours, sentence } from '../model/sentence';

/** Messages that the interface names; they are refusals whatever status and list carries them (contract, "Errors"). */
const NAMED_REFUSALS = [/Invalid import mode/i, /Failed to extract configuration files/i, /not part of an Active[-/ ]Passive cluster/i];

const CODES: Readonly<Record<number, ErrorCode>> = {
  400: 'INVALID_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  422: 'REJECTED',
};

const WORDS: Readonly<Record<number, string>> = {
  400: 'The appliance calls the request invalid (400)',
  401: 'The appliance refused a key that it had issued just now (401). Check that the account may use the REST interface',
  403: 'The appliance forbids this to the administrator account (403). Give its role the permission, or use another account',
  404: 'The appliance has nothing there (404). Check name and path',
  422: 'The appliance refused the change (422)',
  500: 'The appliance’s REST server is not responding (500). It may be restarting; try again later',
};

/** The document of a successful read; a 204 has an empty one. Errors: by status as in the contract's table, `BAD_RESPONSE` when it is no JSON object. */
export function readDocument(reply: Reply): JsonObject {
  refuseStatus(reply);
  // Nothing is there, and that is said.
  if (reply.status === 204) return {};
  const document = parseObject(reply);
  if (isObject(document['result'])) refuseErrors(reply.status, readLists(reply, document['result']));
  return document;
}

/**
 * The result lists of a successful write: 200, 201 and 204, with and without a body (appliance-api.md, "Result envelope").
 * Errors: by status, or `BAD_RESPONSE` for a body that is there but is no result envelope; the caller knows what was sent.
 */
export function readResult(reply: Reply): ResultLists {
  refuseStatus(reply);
  if (reply.status === 204 || reply.body.text().trim() === '') return emptyResult();
  refuseNamed(reply.status, reply.body.text());
  const lists = readLists(reply, parseObject(reply)['result']);
  refuseErrors(reply.status, lists);
  return lists;
}

/** A 403 without a result envelope: so some releases answer a key that has died, and others what an account may not do. */
export function isBareRefusal(reply: Reply): boolean {
  if (reply.status !== 403) return false;
  try {
    return !isObject(parseObject(reply)['result']);
  } catch {
    return true;
  }
}

export function refuseStatus(reply: Reply): void {
  const { status } = reply;
  if (status >= 200 && status < 300) return;
  const result = listsOfError(reply);
  const named = namedRefusal(result) ?? namedIn(reply.body.text());
  const said = sayings(result) || named;
  const code = named ? 'REJECTED' : (CODES[status] ?? 'APPLIANCE_ERROR');
  const words = ours(named ? 'The appliance refused' : (WORDS[status] ?? fallbackWords(status)));
  throw new GatewayError(code, said ? sentence`${words}: ${said}` : sentence`${words}.`, { status, result, sent: true });
}

function fallbackWords(status: number): string {
  if (status >= 300 && status < 400)
    return `The appliance redirects elsewhere (${status}), which is not followed because the key goes to its own address only. Check the URL`;
  return `The appliance answered with status ${status}`;
}

export function refuseErrors(status: number, result: ResultLists): void {
  const refusal = namedRefusal(result);
  if (refusal) throw new GatewayError('REJECTED', sentence`The appliance refused: ${refusal}`, { status, result, sent: true });
  if (result.errors.length > 0) {
    throw new GatewayError('APPLIANCE_ERROR', sentence`The appliance reported an error: ${sayings(result)}`, {
      status,
      result,
      sent: true,
    });
  }
}

/** Errors: `REJECTED` for one of the named messages in a text that is not JSON. */
export function refuseNamed(status: number, text: string): void {
  const named = namedIn(text);
  if (named) throw new GatewayError('REJECTED', sentence`The appliance refused: ${named}`, { status, result: emptyResult(), sent: true });
}

/** The interface does not show in what body its named messages come: a page or plain text is looked through as well. */
function namedIn(text: string): string | undefined {
  if (text.trimStart().startsWith('{')) return undefined;
  for (const named of NAMED_REFUSALS) {
    const found = new RegExp(`(?:Error - )?${named.source}[^<\\n]{0,200}`, 'i').exec(text.slice(0, 65_536));
    if (found) return found[0].trim();
  }
  return undefined;
}

function namedRefusal({ info, warnings, errors }: ResultLists): string | undefined {
  return [...errors, ...warnings, ...info].find(({ message }) => NAMED_REFUSALS.some((named) => named.test(message)))?.message;
}

/** Only non-empty lists may be present; entries are `{ message }`. */
export function readLists(reply: Reply, result: unknown): ResultLists {
  if (!isObject(result)) throw badResponse(reply, sentence`The appliance answered ${reply.status} without the result that belongs there.`);
  return {
    info: messages(reply, result['info']),
    warnings: messages(reply, result['warnings']),
    errors: messages(reply, result['errors']),
  };
}

function messages(reply: Reply, list: unknown): Message[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw badResponse(reply, sentence`The appliance answered a result whose lists are not lists.`);
  return list.map((entry: unknown) => {
    if (typeof entry === 'string') return { message: entry };
    if (isObject(entry) && typeof entry['message'] === 'string') return { message: entry['message'] };
    throw badResponse(reply, sentence`The appliance answered a result with a message that is not text.`);
  });
}

// The body of an error may be anything, or nothing: it is read if it can be, and never the reason for another error.
function listsOfError(reply: Reply): ResultLists {
  try {
    const document = parseObject(reply);
    return readLists(reply, document['result']);
  } catch {
    return emptyResult();
  }
}

function sayings({ info, warnings, errors }: ResultLists): string {
  const list = errors.length > 0 ? errors : [...warnings, ...info];
  return list.map(({ message }) => message).join(' ');
}

/** Why a reply that should have been a configuration is none: what the appliance says in it, or that it says nothing. */
export function notContent(reply: Reply): GatewayError {
  readDocument(reply);
  return new GatewayError('BAD_RESPONSE', sentence`The appliance answered JSON where a configuration belongs.`, {
    status: reply.status,
    sent: true,
  });
}
