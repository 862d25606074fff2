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

const OPEN = 0x01;
const CLOSE = 0x02;
const TEXT = 0x03;
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d]);
const SCRATCH_BYTES = 64 * 1024;

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
  #attributes: string[] = [];
  #opening = false;
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
    if (this.#isVolatile(buffer.toString('utf8', start, end))) this.#skipping = this.#depth;
    else {
      this.#byte(OPEN);
      this.#bytes(buffer, start, end);
      this.#opening = true;
    }
  }

  attribute(buffer: Buffer, name: Range, value: Range): void {
    // The root's own attributes are namespaces and times.
    if (this.#skipping > 0 || this.#depth === 1) return;
    const key = buffer.toString('utf8', ...name);
    const text = buffer.toString('utf8', ...value);
    if (SECRET_MARKS.has(text)) this.#skipping = this.#depth;
    else if (!this.#isVolatile(key) && !key.startsWith('xmlns')) this.#attributes.push(`${key}=${text}`);
  }

  text(buffer: Buffer, start: number, end: number): void {
    if (this.#skipping > 0) return;
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
    else if (this.#skipping === depth) this.#skipping = 0;
  }

  digest(): string {
    this.#flush();
    return this.#hash.digest('hex');
  }

  /** Attributes have no order. */
  #endOpening(): void {
    if (!this.#opening) return;
    this.#opening = false;
    if (this.#attributes.length === 0) return;
    const text = Buffer.from(this.#attributes.sort().join('\u0004'), 'utf8');
    this.#attributes = [];
    this.#byte(TEXT);
    this.#bytes(text, 0, text.length);
  }

  #isVolatile(qualified: string): boolean {
    let known = this.#known.get(qualified);
    if (known === undefined) {
      const name = qualified.slice(qualified.indexOf(':') + 1);
      known = this.#ignored.has(name) || TIMES.some((times) => times.test(name)) || SECRETS.test(name);
      this.#known.set(qualified, known);
    }
    return known;
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
