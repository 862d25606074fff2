import { createHash } from 'node:crypto';
import type { Range, XmlEvents } from '../transfer/xml-bytes';

/** Elements that tell when something was done, not what is configured: `created-on`, but not the `backup-time` of a schedule. */
const TIMES = [
  /^(?:.*time-?stamp|uptime)$/i,
  /^last-(?:.*-)?(?:time|date|login|sign-in|activated|modified|changed?|updated?|access|used|seen|backup)$/i,
  /^(?:exported|generated|created|modified|saved)-(?:at|on|time|date)$/i,
  /^(?:creation|modification)-(?:time|date)$/i,
];
/** Secrets are encrypted anew for every export, so that they never look the same. */
const SECRETS = /-encrypted$/i;
const SECRET_MARKS = new Set(['secret', 'encrypted']);
/** A switch is neither a time nor a secret, whatever its name: `include-timestamp`, `traffic-encrypted`. */
const SWITCH = /^(?:true|false|yes|no|on|off|enabled?|disabled?)$/i;
const SWITCH_CHARACTERS = 8;

/** Not `name="secret"` nor `transport="encrypted"`, which are configuration. */
const SECRET_KEYS = /^(?:[^:]*:)?(?:type|format|encoding|class)$/i;

const OPEN = 0x01;
const CLOSE = 0x02;
const TEXT = 0x03;
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d]);
const SCRATCH_BYTES = 64 * 1024;
/** A configuration has a few hundred names; what has more must not fill the memory with them. */
const MOST_KNOWN = 10_000;

/**
 * The hash of what matters in an XML configuration: elements, attributes and texts in their order, but no comments, no white space
 * around texts, no times, no encrypted secrets, and none of the elements that are `ignored`. The namespace is not looked at, because
 * it changes with the release (field-notes.md, "XML configuration").
 */
export class XmlFingerprint implements XmlEvents {
  readonly #ignored: ReadonlySet<string>;
  readonly #hash = createHash('sha256');
  readonly #scratch = Buffer.alloc(SCRATCH_BYTES);
  readonly #known = new Map<string, boolean>();
  #used = 0;
  #depth = 0;
  /** Depth of the element that is passed over with everything in it; 0 = none. */
  #skipping = 0;
  /** Its name and the beginning of its text, where only a look at that can tell. */
  #skipped: { name: string; text: string } | undefined;
  #attributes: string[] = [];
  #inText = false;
  #spacePending = false;

  constructor(ignored: readonly string[] = []) {
    this.#ignored = new Set(ignored);
  }

  open(buffer: Buffer, start: number, end: number): void {
    this.#endOpening();
    this.#depth++;
    this.#inText = this.#spacePending = false;
    if (this.#skipping > 0) return;
    const name = buffer.toString('utf8', start, end);
    if (this.#isVolatile(name)) {
      this.#skipping = this.#depth;
      this.#skipped = this.#isIgnored(name) ? undefined : { name, text: '' };
    } else {
      this.#byte(OPEN);
      this.#bytes(buffer, start, end);
    }
  }

  attribute(buffer: Buffer, name: Range, value: Range): void {
    // The root's own attributes are namespaces and times.
    if (this.#skipping > 0 || this.#depth === 1) return;
    const key = buffer.toString('utf8', ...name);
    const text = buffer.toString('utf8', ...value);
    if (SECRET_MARKS.has(text) && SECRET_KEYS.test(key)) {
      this.#skipping = this.#depth;
      this.#skipped = undefined;
    } else if (key.startsWith('xmlns')) return;
    else if (!this.#isVolatile(key) || (SWITCH.test(text) && !this.#isIgnored(key))) this.#attributes.push(`${key}=${text}`);
  }

  text(buffer: Buffer, start: number, end: number): void {
    if (this.#skipping > 0) {
      const skipped = this.#skipped;
      if (skipped && skipped.text.length <= SWITCH_CHARACTERS) {
        skipped.text = (skipped.text + buffer.toString('latin1', start, Math.min(end, start + 64))).trim();
      }
      return;
    }
    this.#endOpening();
    for (let at = start; at < end; at++) {
      const byte = buffer[at] as number;
      if (SPACES.has(byte)) {
        this.#spacePending = this.#inText;
        continue;
      }
      if (!this.#inText) this.#byte(TEXT);
      else if (this.#spacePending) this.#byte(0x20);
      this.#inText = true;
      this.#spacePending = false;
      this.#byte(byte);
    }
  }

  close(): void {
    this.#endOpening();
    const depth = this.#depth--;
    this.#inText = this.#spacePending = false;
    if (this.#skipping === 0) this.#byte(CLOSE);
    else if (this.#skipping === depth) this.#endSkipping();
  }

  digest(): string {
    this.#flush();
    return this.#hash.digest('hex');
  }

  #endSkipping(): void {
    this.#skipping = 0;
    const skipped = this.#skipped;
    this.#skipped = undefined;
    if (!skipped || !SWITCH.test(skipped.text)) return;
    const element = Buffer.from(`${skipped.name}\u0004${skipped.text}`, 'utf8');
    this.#byte(OPEN);
    this.#bytes(element, 0, element.length);
    this.#byte(CLOSE);
  }

  /** Attributes have no order. */
  #endOpening(): void {
    if (this.#attributes.length === 0) return;
    const text = Buffer.from(this.#attributes.sort().join('\u0004'), 'utf8');
    this.#attributes = [];
    this.#byte(TEXT);
    this.#bytes(text, 0, text.length);
  }

  #isVolatile(qualified: string): boolean {
    let known = this.#known.get(qualified);
    if (known === undefined) {
      const name = localName(qualified);
      known = this.#ignored.has(name) || TIMES.some((times) => times.test(name)) || SECRETS.test(name);
      if (this.#known.size < MOST_KNOWN) this.#known.set(qualified, known);
    }
    return known;
  }

  #isIgnored(qualified: string): boolean {
    return this.#ignored.has(localName(qualified));
  }

  #byte(byte: number): void {
    if (this.#used === SCRATCH_BYTES) this.#flush();
    this.#scratch[this.#used++] = byte;
  }

  #bytes(buffer: Buffer, start: number, end: number): void {
    for (let at = start; at < end; at++) this.#byte(buffer[at] as number);
  }

  #flush(): void {
    this.#hash.update(this.#scratch.subarray(0, this.#used));
    this.#used = 0;
  }
}

function localName(qualified: string): string {
  return qualified.slice(qualified.indexOf(':') + 1);
}
