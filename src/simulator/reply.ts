import type { Variants } from './variants';

/** An answer that is generated while it is sent, so that gigabytes need little memory. */
export interface StreamedBody {
  readonly bytes: number;
  pieces(): Iterable<Buffer>;
}

/** The answer of an area. The server adds lengths, faults and delays. */
export interface Reply {
  status: number;
  body?: string | Buffer;
  type?: string;
  headers?: Record<string, string>;
  /** A generated body that is too large for memory. */
  stream?: StreamedBody;
}

type ResultListName = 'info' | 'warnings' | 'errors';

/** An error for a refused request. Areas throw it, and the server turns it into a reply. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** An error for an expired or invalid key. */
export class ExpiredKey extends Refusal {}

export const jsonReply = (value: unknown, status = 200): Reply => ({ status, body: JSON.stringify(value), type: 'application/json' });
export const noContentReply = (): Reply => ({ status: 204 });

/** The result envelope (appliance-api.md, "Result envelope"): only lists that hold something, unless `allLists`. */
export function resultReply(lists: Partial<Record<ResultListName, readonly string[]>>, variants: Variants, status: number): Reply {
  const result: Partial<Record<ResultListName, { message: string }[]>> = {};
  for (const name of ['info', 'warnings', 'errors'] as const) {
    const messages = lists[name] ?? [];
    if (messages.length > 0 || variants.allLists) result[name] = messages.map((message) => ({ message }));
  }
  return jsonReply({ result }, status);
}

export const infoReply = (variants: Variants, status: number, ...messages: string[]): Reply =>
  resultReply({ info: messages }, variants, status);

/** The answer to a successful write (section "Result envelope"; the field notes list other statuses, spellings and warnings). */
export function successReply(variants: Variants, status: number, hasImplicitChange = false): Reply {
  const warnings = ['The configuration has been implicitly changed'];
  if (hasImplicitChange) return resultReply({ warnings }, variants, status === 204 ? 200 : status);
  if (status === 204) return noContentReply();
  if (variants.warningsOnly) return resultReply({ warnings }, variants, status);
  const success =
    variants.successText === 'short'
      ? 'Operation succeeded without warning or error!'
      : 'The operation succeeded without any warning or error.';
  return infoReply(variants, status, success);
}

/** Errors that the interface names without a status (section "Errors", rules 2 and 4). */
export function namedErrorReply(message: string, variants: Variants): Reply {
  return resultReply({ [variants.namedErrorList]: [message] }, variants, variants.namedErrorStatus);
}

const REASONS: Record<number, string> = {
  400: 'Bad Request',
  302: 'Found',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  422: 'Unprocessable Entity',
  500: 'Server Error',
};

export function htmlReply(status: number, message: string): Reply {
  const title = `${status} ${REASONS[status] ?? 'Error'}`;
  return {
    status,
    type: 'text/html',
    body: `<html><head><title>${title}</title></head><body><h1>${title}</h1><p>${message}</p></body></html>`,
  };
}

/** An error in the form of this appliance. 401 and 400 keep their status, even if other errors are sent in a 200. */
export function refusalReply(status: number, message: string, method: string, variants: Variants): Reply {
  if (variants.errorsInSuccess && method !== 'GET' && (status === 404 || status === 422))
    return resultReply({ errors: [message] }, variants, 200);
  if (variants.errorBody === 'empty') return { status };
  if (variants.errorBody === 'html') return htmlReply(status, message.replaceAll('<', '&lt;'));
  return resultReply({ errors: [message] }, variants, status);
}
