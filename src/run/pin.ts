import { asGatewayError, GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import { isObject, type JsonObject } from '../model/json';
import type { Request } from '../model/request';
import { ours, sentence, type Sentence } from '../model/sentence';
import { pinsOf } from '../model/rules';
import type { Key } from '../login/session';

/** Where an appliance tells who it is (appliance-api.md, "System information"). */
export const IDENTITY: Request = { method: 'GET', path: '/api/v1/system/system-information' };
/** So long a new connection is taken to lead to the same appliance: some close each after one answer. */
const BELIEVED_MS = 60_000;
/** What an appliance that is well answers where this account may not read who it is. */
const NOT_TOLD = new Set<ErrorCode>(['FORBIDDEN', 'NOT_FOUND', 'INVALID_REQUEST', 'REJECTED']);

/** What was found at the other end of a key. */
interface Verdict {
  readonly key: Key;
  /** Connections that had been opened by then. */
  readonly opened: number;
  readonly at: number;
  readonly refusal: GatewayError | undefined;
}

/**
 * Which appliance may be written to. It is asked who it is once for each key, for it is the one who issues keys, and again when a connection
 * was opened since, at most once a minute: a restored configuration may bring its keys along.
 */
export class Pin {
  readonly #allowed: ReadonlySet<string>;
  readonly #shown: string;
  #verdict: Verdict | undefined;
  #asking: Promise<Key> | undefined;

  constructor(pin: string) {
    this.#shown = pin;
    this.#allowed = new Set(pinsOf(pin));
  }

  /** Whether this key is known to be of the pinned appliance. Errors: `BAD_CONFIG` where it is known to be of another one. */
  holds(key: Key, opened: number): boolean {
    const verdict = this.#verdict;
    if (verdict?.key !== key || (verdict.opened !== opened && performance.now() - verdict.at > BELIEVED_MS)) return false;
    if (verdict.refusal) throw verdict.refusal;
    return true;
  }

  /**
   * Finds it out, once for all who wait for it, and gives the key that the answer came by. Errors: `BAD_CONFIG` where it is another
   * appliance, or does not tell; those of the request.
   */
  find(ask: () => Promise<{ key: Key; document: JsonObject }>, opened: () => number): Promise<Key> {
    this.#asking ??= this.#find(ask, opened).finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #find(ask: () => Promise<{ key: Key; document: JsonObject }>, opened: () => number): Promise<Key> {
    try {
      const { key, document } = await ask();
      const refusal = this.#refusalOf(document);
      this.#verdict = { key, opened: opened(), at: performance.now(), refusal };
      if (refusal) throw refusal;
      return key;
    } catch (thrown) {
      const error = asGatewayError(thrown);
      if (error.answered && NOT_TOLD.has(error.answered))
        throw refused(sentence`The appliance does not tell this account who it is (${ours(error.code)})`);
      // What was to be written has not been sent, whatever became of the question.
      throw new GatewayError(error.code, error.sentence, { ...error.details, sent: false });
    }
  }

  #refusalOf(document: JsonObject): GatewayError | undefined {
    const told = namesIn(document);
    if (told.some((name) => this.#allowed.has(name.toUpperCase()))) return undefined;
    if (told.length === 0) return refused(sentence`The appliance tells neither a serial number nor a machine id`);
    return refused(sentence`Another appliance answers at this address: it tells ${told.join(', ')}, and pinned is ${this.#shown}`);
  }
}

/** Serial number and machine id, as far as they are told. */
function namesIn(document: JsonObject): string[] {
  const nested = document['system-information'];
  const system = isObject(nested) ? nested : document;
  return [system['serial-number'], system['machine-id']].filter((name): name is string => typeof name === 'string' && name.trim() !== '');
}

function refused(why: Sentence): GatewayError {
  return new GatewayError(
    'BAD_CONFIG',
    sentence`${why}. Nothing was written. If that is right, change the identity pin in the appliance node.`,
    { sent: false },
  );
}
