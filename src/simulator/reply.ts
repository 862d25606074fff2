import type { Variants } from './variants';

/** An answer that is generated while it is sent: gigabytes, of which a megabyte at a time is held. */
export interface Streamed {
  readonly bytes: number;
  pieces(): Iterable<Buffer>;
}

/** What an area answers; the server adds lengths, faults and delays. */
export interface Reply {
  status: number;
  body?: string | Buffer;
  type?: string;
  headers?: Record<string, string>;
  /** Instead of a body: one that is too large to hold. */
  stream?: Streamed;
}

export type ListName = 'info' | 'warnings' | 'errors';

/** A request that is not carried out. Every area refuses by throwing one; the server turns it into a reply. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** A key that is dead, or never was one. */
export class DeadKey extends Refusal {}

export const json = (value: unknown, status = 200): Reply => ({ status, body: JSON.stringify(value), type: 'application/json' });
export const noContent = (): Reply => ({ status: 204 });

/** The result envelope (appliance-api.md, "Result envelope"): only lists that hold something, unless `allLists`. */
export function envelope(lists: Partial<Record<ListName, readonly string[]>>, variants: Variants, status: number): Reply {
  const result: Partial<Record<ListName, { message: string }[]>> = {};
  for (const name of ['info', 'warnings', 'errors'] as const) {
    const messages = lists[name] ?? [];
    if (messages.length > 0 || variants.allLists) result[name] = messages.map((message) => ({ message }));
  }
  return json({ result }, status);
}

export const info = (variants: Variants, status: number, ...messages: string[]): Reply => envelope({ info: messages }, variants, status);

/** A plain write that succeeded (section "Result envelope"; the field notes tell of statuses, spellings and warnings alone). */
export function written(variants: Variants, status: number, implicitly = false): Reply {
  const warnings = ['The configuration has been implicitly changed'];
  if (implicitly) return envelope({ warnings }, variants, status === 204 ? 200 : status);
  if (status === 204) return noContent();
  if (variants.warningsOnly) return envelope({ warnings }, variants, status);
  const success =
    variants.successText === 'short'
      ? 'Operation succeeded without warning or error!'
      : 'The operation succeeded without any warning or error.';
  return info(variants, status, success);
}

/** Errors named by the interface, whose status is not shown (section "Errors", rules 2 and 4). */
export function namedError(message: string, variants: Variants): Reply {
  return envelope({ [variants.namedErrorList]: [message] }, variants, variants.namedErrorStatus);
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

export function htmlPage(status: number, message: string): Reply {
  const title = `${status} ${REASONS[status] ?? 'Error'}`;
  return {
    status,
    type: 'text/html',
    body: `<html><head><title>${title}</title></head><body><h1>${title}</h1><p>${message}</p></body></html>`,
  };
}

/** An error as this appliance would send it; 401 and 400 keep their status even where other errors hide in a 200. */
export function refused(status: number, message: string, method: string, variants: Variants): Reply {
  if (variants.errorsInSuccess && method !== 'GET' && (status === 404 || status === 422))
    return envelope({ errors: [message] }, variants, 200);
  if (variants.errorBody === 'empty') return { status };
  if (variants.errorBody === 'html') return htmlPage(status, message.replaceAll('<', '&lt;'));
  return envelope({ errors: [message] }, variants, status);
}
