import { sentence } from '../model/sentence';
import { isUtf8 } from 'node:buffer';
import { badResponse } from '../http/document';
import type { Reply } from '../http/exchange';
import { emptyResult, type ResultLists } from '../model/envelope';
import { GatewayError } from '../model/error';
import { isObject } from '../model/json';
import type { Flow, Sink } from '../model/stream';
import { readLists, refuseErrors, refuseNamed, refuseStatus } from './reply';

/** What is accepted where nobody knows what will come. */
export const ANYTHING = 'application/json, */*;q=0.5';
/** A message with more would not get far in Node-RED; exports and backups have operations of their own. */
const MOST_BYTES = 16 * 1024 * 1024;
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i;
const BINARY_TYPE = /^(?:application\/(?:octet-stream|zip|gzip|x-|pdf|pkcs)|image\/|audio\/|video\/)/i;
/** What a sign-in page begins with, and no answer of the interface. */
const PAGE = /^\s*<(?:!doctype html|html)\b/i;

/** One answer that may be anything: kept whole as it streams in, unless it is JSON, which the transport keeps. */
export class AnyAnswer implements Sink {
  /** What a write was answered beside its result, once it was read. */
  document: unknown;
  readonly keeps = true;
  #parts: Buffer[] = [];
  #bytes = 0;
  #flow: Flow | undefined;

  start(_total: number | undefined, flow: Flow): void {
    this.#flow = flow;
  }

  write(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= MOST_BYTES) this.#parts.push(Buffer.from(chunk));
    else {
      this.#parts = [];
      const words = `The answer is larger than ${MOST_BYTES / 1024 / 1024} MiB, which is no size for a message. Use Gateway transfer or Gateway backup for exports.`;
      this.#flow?.fail(new GatewayError('LIMIT', words, { sent: true }));
    }
  }

  /** A document of JSON, else text, or a Buffer where it is neither. Errors: by status, of its result, `BAD_RESPONSE` for half of JSON. */
  read(reply: Reply): unknown {
    refuseStatus(reply);
    const value = this.#value(reply);
    if (isObject(value) && isObject(value['result'])) refuseErrors(reply.status, readLists(reply, value['result']));
    return value;
  }

  /** The same for a write: gives the lists of its result, and keeps what came beside it. A page is no answer to a write. */
  readWritten(reply: Reply): ResultLists {
    refuseStatus(reply);
    const value = this.#value(reply);
    if (typeof value === 'string') {
      refuseNamed(reply.status, value);
      if (PAGE.test(value)) throw badResponse(reply, sentence`The appliance answered a page of HTML to a write (status ${reply.status}).`);
    }
    const result = isObject(value) ? value['result'] : undefined;
    const isNothing = value === '' || (isObject(value) && Object.keys(value).every((key) => key === 'result'));
    if (!isNothing) this.document = value;
    if (!isObject(result)) return emptyResult();
    const lists = readLists(reply, result);
    refuseErrors(reply.status, lists);
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
          throw badResponse(reply, sentence`The appliance answered JSON that cannot be read, or was cut short (status ${reply.status}).`);
      }
    }
    return isText ? text : bytes;
  }
}
