import { isUtf8 } from 'node:buffer';
import type { GatewayError } from './error';
import { isObject } from './json';
import { MultiStringSearch, type Span } from './multi-string-search';
import { findSecrets, isSecretKey, maskSecretValue, parseNestedJson, type SecretValue } from './secrets';
import { SafeMessage } from './safe-message';
import { decodedViews } from './decoded-views';

/** Stands where a secret would. */
export const MASK = '••••';

/** Of a longer one its beginning is looked for, and all behind that is masked: a certificate must not cost megabytes of search. */
const MAX_WHOLE_SECRET_LENGTH = 512;
/** So much of it: appliances that quote what they refuse cut it short. */
const HEAD_LENGTH = 64;
/** No call has more secrets; of one that has, nothing is shown. */
const MAX_SECRETS = 20_000;
/** No document is nested deeper; what is, is not shown. */
const MAX_DEPTH = 200;
/** A path, and what in one is likely to be a word of the interface: a gap in a text that everybody knows would tell the secret. */
const PATH = /^\/\S*$/;
const WORD = /^[a-z-]{1,15}$/;

/** What is looked for: texts that end where they end, and beginnings of longer ones. */
interface SecretSearches {
  readonly complete: MultiStringSearch;
  readonly prefixes: MultiStringSearch;
}

/**
 * Takes secrets out of what comes from outside, in every form in which one could come back: as it is, escaped in whatever way,
 * as base64 and as half of a Basic credential. Appliances quote what they refuse, so their messages pass through here.
 * Nothing here throws: what cannot be masked in part is masked whole, and no outcome depends on it.
 */
export class Redactor {
  readonly #permanent: SecretValue[] = [];
  /** Keys and codes come and go for as long as the process lives: only the latest are worth remembering. */
  readonly #temporary: SecretValue[][] = [];
  #secretSearches: SecretSearches | undefined;
  /** Whose secrets are masked too, also those that it learns later. */
  #parent: Redactor | undefined;
  #masksEverything = false;

  /** Remembers secrets of the configuration; empty ones are no secret. */
  add(...secrets: (SecretValue | undefined)[]): this {
    for (const secret of secrets) if (secret !== undefined && secret.length > 0) this.#permanent.push(secret);
    this.#secretSearches = undefined;
    return this;
  }

  /** Remembers a key or a code until some later ones have come. */
  addTemporary(...secrets: string[]): void {
    this.#temporary.push(secrets);
    if (this.#temporary.length > 8) this.#temporary.shift();
    this.#secretSearches = undefined;
  }

  /** Another one that masks these too; for the secrets of one call. */
  with(secrets: Iterable<SecretValue>): Redactor {
    const combined = new Redactor();
    combined.#parent = this;
    try {
      for (const secret of secrets) combined.add(secret);
      combined.#masksEverything = combined.#permanent.length > MAX_SECRETS;
    } catch {
      // An input that cannot even be looked through, such as one with a getter that throws: nothing of it is shown.
      combined.#masksEverything = true;
    }
    return combined.#masksEverything || combined.#permanent.length > 0 ? combined : this;
  }

  /** A text from outside. One that has nothing to hide comes back as it is. */
  text(text: string): string {
    try {
      if (text === '') return text;
      return this.#isMaskingEverything() ? MASK : maskSpans(text, this.#spans(text));
    } catch {
      return MASK;
    }
  }

  /** A sentence of ours: masked is what stands in it from outside. */
  safeMessage(message: SafeMessage): string {
    return message.text((outside) => this.text(outside));
  }

  /** The sentence of an error. */
  message(error: GatewayError): string {
    return this.safeMessage(error.safeMessage);
  }

  /** The same for every text inside a JSON value, and all that stands under a secret's name; the value itself is left alone. */
  value<T>(value: T): T {
    try {
      return this.#redactValue(value, 0) as T;
    } catch {
      return MASK as T;
    }
  }

  #redactValue(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.text(depth > MAX_DEPTH ? value : this.#redactJsonText(value, depth));
    if (value instanceof SafeMessage) return this.safeMessage(value);
    if (typeof value !== 'object' || value === null) return value;
    if (depth > MAX_DEPTH) return MASK;
    if (Array.isArray(value)) return value.map((item) => this.#redactValue(item, depth + 1));
    if (!isObject(value)) return value;
    const entries = Object.entries(value).map(([name, item]) => [
      name,
      isSecretKey(name, value) ? maskSecretValue(item, MASK) : this.#redactValue(item, depth + 1),
    ]);
    return Object.fromEntries(entries);
  }

  /** A text that is JSON, with what stands in it under a secret's name masked; another one, or one without such names, as it is. */
  #redactJsonText(text: string, depth: number): string {
    const value = parseNestedJson(text);
    if (value === undefined) return text;
    try {
      const shown = JSON.stringify(this.#redactValue(value, depth + 1));
      return shown === JSON.stringify(value) ? text : shown;
    } catch {
      // Nested too deep to be written down again.
      return MASK;
    }
  }

  #isMaskingEverything(): boolean {
    return this.#masksEverything || (this.#parent !== undefined && this.#parent.#isMaskingEverything());
  }

  #spans(text: string): Span[] {
    const spans = this.#findSpans(text);
    return PATH.test(text) ? spans.filter(([start, end]) => !WORD.test(text.slice(start, end))) : spans;
  }

  #findSpans(text: string): Span[] {
    const searches = this.#searches();
    const spans: Span[] = [];
    for (const view of decodedViews(text)) {
      for (const { complete, prefixes } of searches) {
        const [first] = prefixes.findSpans(view.text);
        if (first) spans.push([view.toSourceIndex(first[0]), text.length]);
        for (const [start, end] of complete.findSpans(view.text)) spans.push([view.toSourceIndex(start), view.toSourceIndex(end)]);
      }
    }
    return spans;
  }

  #searches(): SecretSearches[] {
    return this.#parent ? [this.#search(), ...this.#parent.#searches()] : [this.#search()];
  }

  #search(): SecretSearches {
    if (!this.#secretSearches) {
      const complete: string[] = [];
      const prefixes: string[] = [];
      for (const secret of [this.#permanent, ...this.#temporary].flat()) {
        if (secret.length <= MAX_WHOLE_SECRET_LENGTH) complete.push(...listSearchForms(secret, true));
        else prefixes.push(...listSearchForms(takeHead(secret), false));
      }
      this.#secretSearches = { complete: new MultiStringSearch(complete), prefixes: new MultiStringSearch(prefixes) };
    }
    return this.#secretSearches;
  }
}

/**
 * A JSON value as it may be kept and shown: what stands under a secret's name in it, or in what came with it, is masked wherever it is
 * repeated.
 */
export function redactSecrets<T>(value: T, context?: unknown): T {
  return new Redactor().with(findSecrets([value, context])).value(value);
}

function maskSpans(text: string, spans: Span[]): string {
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
function takeHead(secret: SecretValue): SecretValue {
  if (typeof secret === 'string') return secret.slice(0, secret.slice(0, HEAD_LENGTH).isWellFormed() ? HEAD_LENGTH : HEAD_LENGTH - 1);
  const excess = [0, 1, 2, 3].find((cut) => isUtf8(secret.subarray(0, HEAD_LENGTH - cut))) ?? 0;
  return secret.subarray(0, HEAD_LENGTH - excess);
}

/** As it is, in hexadecimal digits and in base64, alone and inside of something longer; the rest is a matter of `viewsOf`. */
function listSearchForms(secret: SecretValue, isComplete: boolean): string[] {
  const text = typeof secret === 'string' ? secret : secret.toString('utf8');
  const wellFormed = text.toWellFormed();
  const bytes = typeof secret === 'string' ? Buffer.from(wellFormed, 'utf8') : secret;
  const base64 = bytes.toString('base64');
  const alone = isComplete ? [base64, base64.replace(/={1,2}$/, ''), bytes.toString('base64url')] : [];
  return [text, wellFormed, ...alone, ...listBase64Fragments(bytes), ...listHexForms(bytes)];
}

/** Of a short one the digits stand in many a number and fingerprint. */
function listHexForms(bytes: Buffer): string[] {
  if (bytes.length < 4) return [];
  const digits = bytes.toString('hex');
  return [digits, digits.toUpperCase()];
}

/** What base64 of something longer, such as `user:password`, holds of a secret wherever it begins there. */
function listBase64Fragments(bytes: Buffer): string[] {
  // Of a short one too little is left to tell it from other text.
  if (bytes.length < 6) return [];
  return [0, 1, 2].flatMap((before) => {
    const longer = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Characters at both ends share their bits with the neighbours.
    const inner = longer.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
