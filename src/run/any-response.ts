import { safeMessage } from '../model/safe-message';
import { isUtf8 } from 'node:buffer';
import { assertParsableJson } from '../http/json-size';
import { createBadResponseError } from '../http/parse-object';
import type { Reply } from '../http/exchange';
import { createEmptyMessageLists, type ResultMessageLists } from '../model/envelope';
import { GatewayError } from '../model/error';
import { isObject } from '../model/json';
import type { FlowControl, Sink } from '../model/stream';
import { readMessageLists, assertNoResultErrors, assertNoDocumentedRefusal, assertSuccessStatus } from './reply';

/** The Accept header when the kind of response is unknown. */
export const ACCEPT_ANY_CONTENT_TYPE = 'application/json, */*;q=0.5';
/** Maximum size of a response for a message, because Node-RED handles larger ones badly. Exports and backups have separate operations. */
const MAX_BYTES = 16 * 1024 * 1024;
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i;
const BINARY_TYPE = /^(?:application\/(?:octet-stream|zip|gzip|x-|pdf|pkcs)|image\/|audio\/|video\/)/i;
/** The beginning of a sign-in page. The interface itself never answers with HTML. */
const HTML_PAGE = /^\s*<(?:!doctype html|html)\b/i;

/** Collects one response of any kind as it streams in. The transport collects JSON itself. */
export class AnyResponseCollector implements Sink {
  /** The response to a write without its result lists, after it was read. */
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
      const message = `The response is larger than ${MAX_BYTES / 1024 / 1024} MiB, too large for a message. Use Gateway transfer or Gateway backup for exports.`;
      this.#flow?.fail(new GatewayError('LIMIT', message, { sent: true }));
    }
  }

  /**
   * Returns a JSON document, else text, or a Buffer when it is neither. Errors: by status, by its result lists, `BAD_RESPONSE` for
   * truncated JSON, `LIMIT` for JSON with too many values.
   */
  readBody(reply: Reply): unknown {
    assertSuccessStatus(reply);
    const value = this.#value(reply);
    if (isObject(value) && isObject(value['result'])) assertNoResultErrors(reply.status, readMessageLists(reply, value['result']));
    return value;
  }

  /**
   * Returns the result lists of a write and keeps the rest in `document`. Errors: as for `readBody`, and `BAD_RESPONSE` for an HTML page.
   */
  readWriteResult(reply: Reply): ResultMessageLists {
    assertSuccessStatus(reply);
    const value = this.#value(reply);
    if (typeof value === 'string') {
      assertNoDocumentedRefusal(reply.status, value);
      if (HTML_PAGE.test(value))
        throw createBadResponseError(reply, safeMessage`The appliance answered a write with an HTML page (status ${reply.status}).`);
    }
    const result = isObject(value) ? value['result'] : undefined;
    const isNothing = value === '' || (isObject(value) && Object.keys(value).every((key) => key === 'result'));
    if (!isNothing) this.document = value;
    if (!isObject(result)) return createEmptyMessageLists();
    const lists = readMessageLists(reply, result);
    assertNoResultErrors(reply.status, lists);
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
        assertParsableJson(bytes);
        return JSON.parse(text);
      } catch (thrown) {
        if (thrown instanceof GatewayError) throw thrown;
        if (JSON_TYPE.test(contentType))
          throw createBadResponseError(reply, safeMessage`The appliance sent JSON that is invalid or truncated (status ${reply.status}).`);
      }
    }
    return isText ? text : bytes;
  }
}
