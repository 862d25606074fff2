import { isUtf8 } from 'node:buffer';
import type { GatewayError } from './error';
import { isObject } from './json';
import { Search, type Span } from './search';
import { isSecretName, jsonIn, namesSecret, secretsIn, type SecretValue } from './secrets';
import { Sentence } from './sentence';
import { viewsOf } from './unescaped';

/** Stands where a secret would. */
export const MASK = '••••';

/** Of a longer one its beginning is looked for, and all behind that is masked: a certificate must not cost megabytes of search. */
const LONG = 512;
/** So much of it: appliances that quote what they refuse cut it short. */
const HEAD = 64;
/** No call has more secrets; of one that has, nothing is shown. */
const MOST_SECRETS = 20_000;
/** No document is nested deeper; what is, is not shown. */
const DEEPEST = 200;
/** A path, and what in one is likely to be a word of the interface: a gap in a text that everybody knows would tell the secret. */
const PATH = /^\/\S*$/;
const WORD = /^[a-z-]{1,15}$/;

/** What is looked for: texts that end where they end, and beginnings of longer ones. */
interface Wanted {
  readonly whole: Search;
  readonly begun: Search;
}

/**
 * Takes secrets out of what comes from outside, in every form in which one could come back: as it is, escaped in whatever way,
 * as base64 and as half of a Basic credential. Appliances quote what they refuse, so their messages pass through here.
 * Nothing here throws: what cannot be masked in part is masked whole, and no outcome depends on it.
 */
export class Redactor {
  readonly #lasting: SecretValue[] = [];
  /** Keys and codes come and go for as long as the process lives: only the latest are worth remembering. */
  readonly #passing: SecretValue[][] = [];
  #wanted: Wanted | undefined;
  /** Whose secrets are masked too, also those that it learns later. */
  #parent: Redactor | undefined;
  #blind = false;

  /** Remembers secrets of the configuration; empty ones are no secret. */
  add(...secrets: (SecretValue | undefined)[]): this {
    for (const secret of secrets) if (secret !== undefined && secret.length > 0) this.#lasting.push(secret);
    this.#wanted = undefined;
    return this;
  }

  /** Remembers a key or a code until some later ones have come. */
  addPassing(...secrets: string[]): void {
    this.#passing.push(secrets);
    if (this.#passing.length > 8) this.#passing.shift();
    this.#wanted = undefined;
  }

  /** Another one that masks these too; for the secrets of one call. */
  with(secrets: Iterable<SecretValue>): Redactor {
    const both = new Redactor();
    both.#parent = this;
    try {
      for (const secret of secrets) both.add(secret);
      both.#blind = both.#lasting.length > MOST_SECRETS;
    } catch {
      // An input that cannot even be looked through, such as one with a getter that throws: nothing of it is shown.
      both.#blind = true;
    }
    return both.#blind || both.#lasting.length > 0 ? both : this;
  }

  /** A text from outside. One that has nothing to hide comes back as it is. */
  text(text: string): string {
    try {
      if (text === '') return text;
      return this.#isBlind() ? MASK : masked(text, this.#spans(text));
    } catch {
      return MASK;
    }
  }

  /** A sentence of ours: masked is what stands in it from outside. */
  sentence(sentence: Sentence): string {
    return sentence.text((outside) => this.text(outside));
  }

  /** The sentence of an error. */
  message(error: GatewayError): string {
    return this.sentence(error.sentence);
  }

  /** The same for every text inside a JSON value, and all that stands under a secret's name; the value itself is left alone. */
  value<T>(value: T): T {
    try {
      return this.#walk(value, 0) as T;
    } catch {
      return MASK as T;
    }
  }

  #walk(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.text(depth > DEEPEST ? value : this.#named(value, depth));
    if (value instanceof Sentence) return this.sentence(value);
    if (typeof value !== 'object' || value === null) return value;
    if (depth > DEEPEST) return MASK;
    if (Array.isArray(value)) return value.map((item) => this.#walk(item, depth + 1));
    if (!isObject(value)) return value;
    const named = namesSecret(value);
    const entries = Object.entries(value).map(([name, item]) => [
      name,
      (named && name.startsWith('value')) || isSecretName(name) ? hidden(item) : this.#walk(item, depth + 1),
    ]);
    return Object.fromEntries(entries);
  }

  /** A text that is JSON, with what stands in it under a secret's name masked; another one, or one without such names, as it is. */
  #named(text: string, depth: number): string {
    const value = jsonIn(text);
    if (value === undefined) return text;
    try {
      const shown = JSON.stringify(this.#walk(value, depth + 1));
      return shown === JSON.stringify(value) ? text : shown;
    } catch {
      // Nested too deep to be written down again.
      return MASK;
    }
  }

  #isBlind(): boolean {
    return this.#blind || (this.#parent !== undefined && this.#parent.#isBlind());
  }

  #spans(text: string): Span[] {
    const spans = this.#found(text);
    return PATH.test(text) ? spans.filter(([start, end]) => !WORD.test(text.slice(start, end))) : spans;
  }

  #found(text: string): Span[] {
    const searches = this.#searches();
    const spans: Span[] = [];
    for (const view of viewsOf(text)) {
      for (const { whole, begun } of searches) {
        const [first] = begun.spans(view.text);
        if (first) spans.push([view.placeOf(first[0]), text.length]);
        for (const [start, end] of whole.spans(view.text)) spans.push([view.placeOf(start), view.placeOf(end)]);
      }
    }
    return spans;
  }

  #searches(): Wanted[] {
    return this.#parent ? [this.#search(), ...this.#parent.#searches()] : [this.#search()];
  }

  #search(): Wanted {
    if (!this.#wanted) {
      const whole: string[] = [];
      const begun: string[] = [];
      for (const secret of [this.#lasting, ...this.#passing].flat()) {
        if (secret.length <= LONG) whole.push(...formsOf(secret, true));
        else begun.push(...formsOf(headOf(secret), false));
      }
      this.#wanted = { whole: new Search(whole), begun: new Search(begun) };
    }
    return this.#wanted;
  }
}

/**
 * A JSON value as it may be kept and shown: what stands under a secret's name in it, or in what came with it, is masked wherever it is
 * repeated.
 */
export function withoutSecrets<T>(value: T, cameWith?: unknown): T {
  return new Redactor().with(secretsIn([value, cameWith])).value(value);
}

/** What nothing can be learned from stays: that a field is empty or off. */
function hidden(value: unknown): unknown {
  return value === '' || value === null || value === undefined || typeof value === 'boolean' ? value : MASK;
}

function masked(text: string, spans: Span[]): string {
  if (spans.length === 0) return text;
  spans.sort(([one], [other]) => one - other);
  const shown: string[] = [];
  let at = 0;
  for (const [start, end] of spans) {
    if (end <= at) continue;
    // What overlaps is one gap.
    if (start >= at) shown.push(text.slice(at, start), MASK);
    at = end;
  }
  shown.push(text.slice(at));
  return shown.join('');
}

/** Not with half of a character at its end, which would be looked for as something else. */
function headOf(secret: SecretValue): SecretValue {
  if (typeof secret === 'string') return secret.slice(0, secret.slice(0, HEAD).isWellFormed() ? HEAD : HEAD - 1);
  const whole = [0, 1, 2, 3].find((cut) => isUtf8(secret.subarray(0, HEAD - cut))) ?? 0;
  return secret.subarray(0, HEAD - whole);
}

/** As it is, in hexadecimal digits and in base64, alone and inside of something longer; the rest is a matter of `viewsOf`. */
function formsOf(secret: SecretValue, whole: boolean): string[] {
  const text = typeof secret === 'string' ? secret : secret.toString('utf8');
  const wellFormed = text.toWellFormed();
  const bytes = typeof secret === 'string' ? Buffer.from(wellFormed, 'utf8') : secret;
  const base64 = bytes.toString('base64');
  const alone = whole ? [base64, base64.replace(/={1,2}$/, ''), bytes.toString('base64url')] : [];
  return [text, wellFormed, ...alone, ...insideBase64(bytes), ...inHex(bytes)];
}

/** Of a short one the digits stand in many a number and fingerprint. */
function inHex(bytes: Buffer): string[] {
  if (bytes.length < 4) return [];
  const digits = bytes.toString('hex');
  return [digits, digits.toUpperCase()];
}

/** What base64 of something longer, such as `user:password`, holds of a secret wherever it begins there. */
function insideBase64(bytes: Buffer): string[] {
  // Of a short one too little is left to tell it from other text.
  if (bytes.length < 6) return [];
  return [0, 1, 2].flatMap((before) => {
    const longer = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Characters at both ends share their bits with the neighbours.
    const inner = longer.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
