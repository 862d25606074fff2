import { safeMessage } from '../model/safe-message';
import { isUtf8 } from 'node:buffer';
import { badResponse } from '../http/parse-object';
import type { Reply } from '../http/exchange';
import { emptyResultLists, type ResultLists } from '../model/envelope';
import { GatewayError } from '../model/error';
import { isObject } from '../model/json';
import type { FlowControl, Sink } from '../model/stream';
import { readResultLists, assertNoErrors, assertNoNamedRefusal, assertSuccessStatus } from './reply';

/** What is accepted where nobody knows what will come. */
export const ACCEPT_ANY_TYPE = 'application/json, */*;q=0.5';
/** A message with more would not get far in Node-RED; exports and backups have operations of their own. */
const MAX_BYTES = 16 * 1024 * 1024;
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i;
const BINARY_TYPE = /^(?:application\/(?:octet-stream|zip|gzip|x-|pdf|pkcs)|image\/|audio\/|video\/)/i;
/** What a sign-in page begins with, and no answer of the interface. */
const HTML_PAGE = /^\s*<(?:!doctype html|html)\b/i;

/** One answer that may be anything: kept whole as it streams in, unless it is JSON, which the transport keeps. */
export class AnyResponse implements Sink {
  /** What a write was answered beside its result, once it was read. */
  document: unknown;
  readonly isBuffering = true;
  #parts: Buffer[] = [];
  #bytes = 0;
  #flow: FlowControl | undefined;

  start(_total: number | undefined, flow: FlowControl): void {
    this.#flow = flow;
  }

  write(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= MAX_BYTES) this.#parts.push(Buffer.from(chunk));
    else {
      this.#parts = [];
      const message = `The answer is larger than ${MAX_BYTES / 1024 / 1024} MiB, which is no size for a message. Use Gateway transfer or Gateway backup for exports.`;
      this.#flow?.fail(new GatewayError('LIMIT', message, { sent: true }));
    }
  }

  /** A document of JSON, else text, or a Buffer where it is neither. Errors: by status, of its result, `BAD_RESPONSE` for half of JSON. */
  readBody(reply: Reply): unknown {
    assertSuccessStatus(reply);
    const value = this.#value(reply);
    if (isObject(value) && isObject(value['result'])) assertNoErrors(reply.status, readResultLists(reply, value['result']));
    return value;
  }

  /** The same for a write: gives the lists of its result, and keeps what came beside it. A page is no answer to a write. */
  readWriteResult(reply: Reply): ResultLists {
    assertSuccessStatus(reply);
    const value = this.#value(reply);
    if (typeof value === 'string') {
      assertNoNamedRefusal(reply.status, value);
      if (HTML_PAGE.test(value))
        throw badResponse(reply, safeMessage`The appliance answered a page of HTML to a write (status ${reply.status}).`);
    }
    const result = isObject(value) ? value['result'] : undefined;
    const isNothing = value === '' || (isObject(value) && Object.keys(value).every((key) => key === 'result'));
    if (!isNothing) this.document = value;
    if (!isObject(result)) return emptyResultLists();
    const lists = readResultLists(reply, result);
    assertNoErrors(reply.status, lists);
    return lists;
  }

  #value(reply: Reply): unknown {
    const bytes = reply.streamed ? Buffer.concat(this.#parts) : reply.body.bytes();
    const { contentType } = reply;
    const isText = isUtf8(bytes) && !BINARY_TYPE.test(contentType);
    const text = isText ? bytes.toString('utf8').replace(/^\ufeff/, '') : '';
    if (isText && text.trim() === '') return contentType.startsWith('text/') ? text : {};
    if (isText && (JSON_TYPE.test(contentType) || /^\s*[{[]/.test(text))) {
      try {
        return JSON.parse(text);
      } catch {
        if (JSON_TYPE.test(contentType))
          throw badResponse(
            reply,
            safeMessage`The appliance answered JSON that cannot be read, or was cut short (status ${reply.status}).`,
          );
      }
    }
    return isText ? text : bytes;
  }
}
