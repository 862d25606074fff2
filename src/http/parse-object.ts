import { GatewayError } from '../model/error';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';
import { isObject, type JsonObject } from '../model/json';
import type { Reply } from './exchange';

/** Parses a body that must be a JSON object. Errors: `BAD_RESPONSE`, which describes the body, and `LIMIT` for too many values. */
export function parseObject(reply: Reply): JsonObject {
  let parsed: unknown;
  try {
    parsed = reply.body.json();
  } catch (thrown) {
    if (thrown instanceof GatewayError) throw thrown;
    throw createBadResponseError(
      reply,
      safeMessage`The appliance answered ${trusted(describeBody(reply))} instead of JSON (status ${reply.status}).`,
    );
  }
  if (!isObject(parsed))
    throw createBadResponseError(reply, safeMessage`The appliance answered JSON that is not an object (status ${reply.status}).`);
  return parsed;
}

function describeBody(reply: Reply): string {
  const start = reply.body.text().trimStart().slice(0, 15).toLowerCase();
  if (start === '') return 'nothing';
  if (start.startsWith('<!doctype html') || start.startsWith('<html')) return 'a page of HTML';
  return 'something unreadable or truncated';
}

export function createBadResponseError(reply: Reply, message: SafeMessage): GatewayError {
  return new GatewayError('BAD_RESPONSE', message, { status: reply.status, sent: true });
}
