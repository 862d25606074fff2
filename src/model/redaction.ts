import { isUtf8 } from 'node:buffer';
import type { GatewayError } from './error';
import { isObject, setOwnProperty, type JsonObject } from './json';
import { MultiStringSearch, type TextMatchSpan } from './multi-string-search';
import { findSecrets, isSecretKey, maskSecretValue, parseNestedJson, type SecretValue } from './secrets';
import { SafeMessage } from './safe-message';
import { createDecodedTexts } from './decoded-views';

/** Replaces a secret. */
export const MASK = '••••';

/**
 * For a longer secret only its beginning is searched, and everything after a match is masked. A certificate must not cost megabytes of
 * search.
 */
const MAX_WHOLE_SECRET_LENGTH = 512;
/** Length of the beginning of a long secret that is searched for. It is short because appliances shorten what they quote. */
const HEAD_LENGTH = 64;
/** Maximum number of secrets. A run with more is masked completely. */
const MAX_SECRETS = 20_000;
/** Maximum nesting. A value that is nested deeper is masked. */
const MAX_DEPTH = 200;
/** In a path, a match that looks like a word of the interface stays visible: a gap in a known text would reveal the secret. */
const PATH = /^\/\S*$/;
const WORD = /^[a-z-]{1,15}$/;

/** The first characters of the escapes that `createDecodedTexts` knows. */
const ESCAPE = /[%+\\&]/;

/** Complete texts, and beginnings of longer ones. */
interface SecretSearches {
  readonly complete: MultiStringSearch;
  readonly prefixes: MultiStringSearch;
}

/**
 * Masks secrets in text from outside, in every form in which they could return: literal, escaped, as base64 and as part of a Basic
 * credential. Appliances quote what they refuse, so their messages pass through here. It never throws: what cannot be masked in part is
 * masked completely, and no outcome depends on it.
 */
export class Redactor {
  readonly #permanent: SecretValue[] = [];
  /** API keys and codes change for as long as the process lives, so only the latest ones are kept. */
  readonly #temporary: SecretValue[][] = [];
  #secretSearches: SecretSearches | undefined;
  /** Another redactor. Its secrets are masked here too, including those that it learns later. */
  #parent: Redactor | undefined;
  #masksEverything = false;

  /** Adds secrets of the settings. Empty values are ignored. */
  add(...secrets: (SecretValue | undefined)[]): this {
    for (const secret of secrets) if (secret !== undefined && secret.length > 0) this.#permanent.push(secret);
    this.#secretSearches = undefined;
    return this;
  }

  /** Adds a key or a code until eight later ones have come. */
  addTemporary(...secrets: string[]): void {
    this.#temporary.push(secrets);
    if (this.#temporary.length > 8) this.#temporary.shift();
    this.#secretSearches = undefined;
  }

  /** Returns a redactor that masks `secrets` too, or this one when there are none. */
  with(secrets: Iterable<SecretValue>): Redactor {
    let combined: Redactor | undefined;
    try {
      for (const secret of secrets) combined = (combined ?? this.#createChild()).add(secret);
      if (combined) combined.#masksEverything = combined.#permanent.length > MAX_SECRETS;
    } catch {
      combined ??= this.#createChild();
      // The input cannot be read, for example because of a getter that throws: mask everything.
      combined.#masksEverything = true;
    }
    return combined && (combined.#masksEverything || combined.#permanent.length > 0) ? combined : this;
  }

  #createChild(): Redactor {
    const child = new Redactor();
    child.#parent = this;
    return child;
  }

  /** Masks a text from outside. A text without secrets is returned unchanged. */
  text(text: string): string {
    try {
      if (text === '' || this.#isClean(text)) return text;
      return this.#isMaskingEverything() ? MASK : maskSpans(text, this.#spans(text));
    } catch {
      return MASK;
    }
  }

  /** Masks the untrusted parts of a message. */
  safeMessage(message: SafeMessage): string {
    return message.text((outside) => this.text(outside));
  }

  /** The masked message of an error. */
  message(error: GatewayError): string {
    return this.safeMessage(error.safeMessage);
  }

  /**
   * Masks every text inside a JSON value and every value under a secret name. It never changes `value`; without anything to mask, it
   * returns `value` itself and allocates nothing.
   */
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
    if (Array.isArray(value)) return this.#redactArray(value, depth);
    return isObject(value) ? this.#redactObject(value, depth) : value;
  }

  #redactArray(items: readonly unknown[], depth: number): unknown {
    let redacted: unknown[] | undefined;
    for (let index = 0; index < items.length; index++) {
      const item = items[index];
      const redactedItem = this.#redactValue(item, depth + 1);
      if (redactedItem !== item) (redacted ??= [...items])[index] = redactedItem;
    }
    return redacted ?? items;
  }

  #redactObject(value: JsonObject, depth: number): unknown {
    let redacted: Record<string, unknown> | undefined;
    // Not Object.entries, which allocates two arrays per object even when nothing is secret.
    for (const name in value) {
      if (!Object.hasOwn(value, name)) continue;
      const item = value[name];
      const redactedItem = isSecretKey(name, value) ? maskSecretValue(item, MASK) : this.#redactValue(item, depth + 1);
      if (redactedItem !== item) {
        redacted ??= copyObject(value);
        setOwnProperty(redacted, name, redactedItem);
      }
    }
    return redacted ?? value;
  }

  /** Whether a text without escapes matches no secret of this redactor and its parents. Most texts are clean. */
  #isClean(text: string): boolean {
    return text.search(ESCAPE) < 0 && !this.#mayMatch(text);
  }

  #mayMatch(text: string): boolean {
    const { complete, prefixes } = this.#search();
    return (
      this.#masksEverything ||
      complete.mayMatch(text) ||
      prefixes.mayMatch(text) ||
      (this.#parent !== undefined && this.#parent.#mayMatch(text))
    );
  }

  /** Masks values under secret names in a text that is JSON. Other texts are returned unchanged. */
  #redactJsonText(text: string, depth: number): string {
    const value = parseNestedJson(text);
    if (value === undefined) return text;
    try {
      const shown = JSON.stringify(this.#redactValue(value, depth + 1));
      return shown === JSON.stringify(value) ? text : shown;
    } catch {
      // The value is nested too deep to be serialized.
      return MASK;
    }
  }

  #isMaskingEverything(): boolean {
    return this.#masksEverything || (this.#parent !== undefined && this.#parent.#isMaskingEverything());
  }

  #spans(text: string): TextMatchSpan[] {
    const spans = this.#findSpans(text);
    return PATH.test(text) ? spans.filter(([start, end]) => !WORD.test(text.slice(start, end))) : spans;
  }

  #findSpans(text: string): TextMatchSpan[] {
    const searches = this.#searches();
    const spans: TextMatchSpan[] = [];
    for (const view of createDecodedTexts(text)) {
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

/** Masks a JSON value for storage or display: values under secret names in it or in `context` are masked wherever they occur. */
export function redactSecrets<T>(value: T, context?: unknown): T {
  return new Redactor().with(findSecrets([value, context])).value(value);
}

function copyObject(value: JsonObject): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value));
}

function maskSpans(text: string, spans: TextMatchSpan[]): string {
  if (spans.length === 0) return text;
  spans.sort(([one], [other]) => one - other);
  const shown: string[] = [];
  let at = 0;
  for (const [start, end] of spans) {
    if (end <= at) continue;
    // Overlapping matches make one gap.
    if (start >= at) shown.push(text.slice(at, start), MASK);
    at = end;
  }
  shown.push(text.slice(at));
  return shown.join('');
}

/** Does not cut a character in half, because half a character would match other text. */
function takeHead(secret: SecretValue): SecretValue {
  if (typeof secret === 'string') return secret.slice(0, secret.slice(0, HEAD_LENGTH).isWellFormed() ? HEAD_LENGTH : HEAD_LENGTH - 1);
  const excess = [0, 1, 2, 3].find((cut) => isUtf8(secret.subarray(0, HEAD_LENGTH - cut))) ?? 0;
  return secret.subarray(0, HEAD_LENGTH - excess);
}

/** The forms to search for: literal, hexadecimal and base64, alone and inside longer data. `createDecodedTexts` handles escapes. */
function listSearchForms(secret: SecretValue, isComplete: boolean): string[] {
  const text = typeof secret === 'string' ? secret : secret.toString('utf8');
  const wellFormed = text.toWellFormed();
  const bytes = typeof secret === 'string' ? Buffer.from(wellFormed, 'utf8') : secret;
  const base64 = bytes.toString('base64');
  const alone = isComplete ? [base64, base64.replace(/={1,2}$/, ''), bytes.toString('base64url')] : [];
  return [text, wellFormed, ...alone, ...listBase64Fragments(bytes), ...listHexForms(bytes)];
}

/** Returns the hexadecimal forms of a secret, unless it is short: short digits occur in many numbers and fingerprints. */
function listHexForms(bytes: Buffer): string[] {
  if (bytes.length < 4) return [];
  const digits = bytes.toString('hex');
  return [digits, digits.toUpperCase()];
}

/** The fragments that base64 of longer data, such as `user:password`, contains for each alignment of the secret. */
function listBase64Fragments(bytes: Buffer): string[] {
  // The fragments of a short secret would match ordinary text.
  if (bytes.length < 6) return [];
  return [0, 1, 2].flatMap((before) => {
    const longer = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // The characters at both ends share bits with their neighbors.
    const inner = longer.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
