import { encodeSegment } from './path';

/** Stands where a secret would. */
export const MASK = '••••';

/**
 * Takes secrets out of text, in every form in which one could come back: as it is, JSON-escaped, URL-encoded, base64 and
 * as half of a Basic credential. Appliances quote what they refuse, so their messages pass through here.
 */
export class Redactor {
  readonly #lasting = new Set<string>();
  /** Keys and codes come and go for as long as the process lives: only the latest are worth remembering. */
  readonly #passing: string[][] = [];
  #pattern: RegExp | undefined;
  /** Whose secrets are masked too, also those that it learns later. */
  #parent: Redactor | undefined;

  /** Remembers secrets of the configuration; empty ones are no secret. */
  add(...secrets: (string | undefined)[]): this {
    for (const form of allForms(secrets)) this.#lasting.add(form);
    this.#pattern = undefined;
    return this;
  }

  /** Remembers a key or a code until some later ones have come. */
  addPassing(...secrets: string[]): void {
    this.#passing.push(allForms(secrets));
    if (this.#passing.length > 8) this.#passing.shift();
    this.#pattern = undefined;
  }

  /** Another one that masks these too; for the secrets of one call. */
  with(secrets: string[]): Redactor {
    const both = new Redactor().add(...secrets);
    both.#parent = this;
    return both;
  }

  text(text: string): string {
    this.#pattern ??= toPattern([...this.#lasting, ...this.#passing.flat()]);
    const masked = text.replace(this.#pattern, MASK);
    return this.#parent ? this.#parent.text(masked) : masked;
  }

  /** The same for every string inside a JSON value; the value itself is left alone. */
  value<T>(value: T): T {
    return this.#walk(value) as T;
  }

  #walk(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.#walk(item));
    if (value && typeof value === 'object' && !Buffer.isBuffer(value)) {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#walk(item)]));
    }
    return value;
  }
}

// `password-cleartext`, `password-encrypted`, `cluster-password`, `Password`; not `change-password-at-signin`.
const SECRET_NAME = /(^|[-_ ])(password|passphrase|secret)(-cleartext|-encrypted)?$/i;

/** The texts that stand under a secret's name (appliance-api.md, "Resources and their fields") somewhere in a body. */
export function secretsIn(body: unknown, seen = new Set<unknown>()): string[] {
  if (typeof body !== 'object' || body === null || Buffer.isBuffer(body) || seen.has(body)) return [];
  seen.add(body);
  return Object.entries(body).flatMap(([name, value]: [string, unknown]) => {
    if (typeof value === 'string' && SECRET_NAME.test(name)) return [value];
    return secretsIn(value, seen);
  });
}

function allForms(secrets: (string | undefined)[]): string[] {
  return secrets.flatMap((secret) => (secret ? formsOf(secret) : []));
}

function formsOf(given: string): string[] {
  const secret = given.toWellFormed();
  const bytes = Buffer.from(secret, 'utf8');
  const base64 = bytes.toString('base64');
  const escaped = [secret, base64].flatMap((text) => [encodeURIComponent(text), encodeSegment(text)]);
  // Either case is right for the digits of an escape.
  const lower = escaped.map((text) => text.replace(/%../g, (escape) => escape.toLowerCase()));
  const form = new URLSearchParams({ '': secret }).toString().slice(1);
  const plain = [secret, JSON.stringify(secret).slice(1, -1), form, base64, base64.replace(/=+$/, ''), bytes.toString('base64url')];
  return [...plain, ...escaped, ...lower, ...inMarkup(secret), ...insideBase64(bytes)];
}

/** As pages and XML quote it: all of the characters that may be escaped, or only those that have to be. */
function inMarkup(secret: string): string[] {
  const named = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const quoted = named.replaceAll('"', '&quot;');
  return [
    named,
    quoted,
    quoted.replaceAll("'", '&#39;'),
    quoted.replaceAll("'", '&apos;'),
    named.replaceAll('"', '&#34;').replaceAll("'", '&#39;'),
  ];
}

/** What base64 of something longer, such as `user:password`, holds of a secret wherever it begins there. */
function insideBase64(bytes: Buffer): string[] {
  // Of a short one too little is left to tell it from other text.
  if (bytes.length < 6) return [];
  return [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // Characters at both ends share their bits with the neighbours.
    const inner = whole.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_'), encodeURIComponent(inner)];
  });
}

function toPattern(forms: string[]): RegExp {
  // Longest first, so that a secret that contains another is masked whole. No secret: a pattern that never matches.
  const sorted = forms.sort((a, b) => b.length - a.length).map(literal);
  return new RegExp(sorted.length > 0 ? sorted.join('|') : '(?!)', 'g');
}

function literal(form: string): string {
  const escaped = form.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  // A very short secret stands inside ordinary words: mask it only where it stands alone.
  return form.length < 4 ? `(?<![A-Za-z0-9])${escaped}(?![A-Za-z0-9])` : escaped;
}
