import { createHash } from 'node:crypto';
import type { ByteRange, XmlEvents } from '../transfer/xml-bytes';

/** Elements that report a time and not a setting: `created-on`, but not the `backup-time` of a schedule. */
const TIME_PATTERNS = [
  /^(?:.*time-?stamp|uptime)$/i,
  /^last-(?:.*-)?(?:time|date|login|sign-in|activated|modified|changed?|updated?|access|used|seen|backup)$/i,
  /^(?:exported|generated|created|modified|saved)-(?:at|on|time|date)$/i,
  /^(?:creation|modification)-(?:time|date)$/i,
];
/** Matches names of encrypted secrets. Each export encrypts them again, so they always differ. */
const SECRET_PATTERN = /-encrypted$/i;
const SECRET_MARKS = new Set(['secret', 'encrypted']);
/** A switch is neither a time nor a secret, whatever its name: `include-timestamp`, `traffic-encrypted`. */
const SWITCH_PATTERN = /^(?:true|false|yes|no|on|off|enabled?|disabled?)$/i;
const MAX_SWITCH_LENGTH = 8;

/** `name="secret"` and `transport="encrypted"` are settings. */
const SECRET_ATTRIBUTE_PATTERN = /^(?:[^:]*:)?(?:type|format|encoding|class)$/i;

const OPEN = 0x01;
const CLOSE = 0x02;
const TEXT = 0x03;
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d]);
const SCRATCH_BYTES = 64 * 1024;
/** Maximum number of remembered names. A configuration has a few hundred; the limit bounds the memory. */
const MAX_CACHED_NAMES = 10_000;

/**
 * Computes a fingerprint of an XML configuration from its elements, attributes and texts in order. Comments, white space around texts,
 * times, encrypted secrets and the elements in `ignored` do not count. Namespaces do not count either, because they change with the release
 * (field-notes.md, "XML configuration").
 */
export class XmlFingerprint implements XmlEvents {
  readonly #ignored: ReadonlySet<string>;
  readonly #hash = createHash('sha256');
  readonly #scratch = Buffer.alloc(SCRATCH_BYTES);
  readonly #volatileNames = new Map<string, boolean>();
  #scratchLength = 0;
  #depth = 0;
  /** Depth of the element that is skipped with its content; 0 if none. */
  #skippedDepth = 0;
  /** Name and first characters of the text, if the text decides whether the element is skipped. */
  #skippedElement: { name: string; text: string } | undefined;
  #attributes: string[] = [];
  #inText = false;
  #spacePending = false;

  constructor(ignored: readonly string[] = []) {
    this.#ignored = new Set(ignored);
  }

  open(buffer: Buffer, start: number, end: number): void {
    this.#endOpenTag();
    this.#depth++;
    this.#inText = this.#spacePending = false;
    if (this.#skippedDepth > 0) return;
    const name = buffer.toString('utf8', start, end);
    if (this.#isVolatile(name)) {
      this.#skippedDepth = this.#depth;
      this.#skippedElement = this.#isIgnored(name) ? undefined : { name, text: '' };
    } else {
      this.#addByte(OPEN);
      this.#addBytes(buffer, start, end);
    }
  }

  attribute(buffer: Buffer, name: ByteRange, value: ByteRange): void {
    // The attributes of the root are namespaces and times.
    if (this.#skippedDepth > 0 || this.#depth === 1) return;
    const key = buffer.toString('utf8', ...name);
    const text = buffer.toString('utf8', ...value);
    if (SECRET_MARKS.has(text) && SECRET_ATTRIBUTE_PATTERN.test(key)) {
      this.#skippedDepth = this.#depth;
      this.#skippedElement = undefined;
    } else if (key.startsWith('xmlns')) return;
    else if (!this.#isVolatile(key) || (SWITCH_PATTERN.test(text) && !this.#isIgnored(key))) this.#attributes.push(`${key}=${text}`);
  }

  text(buffer: Buffer, start: number, end: number): void {
    if (this.#skippedDepth > 0) {
      const skipped = this.#skippedElement;
      if (skipped && skipped.text.length <= MAX_SWITCH_LENGTH) {
        skipped.text = (skipped.text + buffer.toString('latin1', start, Math.min(end, start + 64))).trim();
      }
      return;
    }
    this.#endOpenTag();
    for (let offset = start; offset < end; offset++) {
      const byte = buffer[offset] as number;
      if (SPACES.has(byte)) {
        this.#spacePending = this.#inText;
        continue;
      }
      if (!this.#inText) this.#addByte(TEXT);
      else if (this.#spacePending) this.#addByte(0x20);
      this.#inText = true;
      this.#spacePending = false;
      this.#addByte(byte);
    }
  }

  close(): void {
    this.#endOpenTag();
    const depth = this.#depth--;
    this.#inText = this.#spacePending = false;
    if (this.#skippedDepth === 0) this.#addByte(CLOSE);
    else if (this.#skippedDepth === depth) this.#endSkippedElement();
  }

  digest(): string {
    this.#flush();
    return this.#hash.digest('hex');
  }

  #endSkippedElement(): void {
    this.#skippedDepth = 0;
    const skipped = this.#skippedElement;
    this.#skippedElement = undefined;
    if (!skipped || !SWITCH_PATTERN.test(skipped.text)) return;
    const element = Buffer.from(`${skipped.name}\u0004${skipped.text}`, 'utf8');
    this.#addByte(OPEN);
    this.#addBytes(element, 0, element.length);
    this.#addByte(CLOSE);
  }

  /** Ends an open tag. Its attributes are sorted, because their order does not count. */
  #endOpenTag(): void {
    if (this.#attributes.length === 0) return;
    const text = Buffer.from(this.#attributes.sort().join('\u0004'), 'utf8');
    this.#attributes = [];
    this.#addByte(TEXT);
    this.#addBytes(text, 0, text.length);
  }

  #isVolatile(qualified: string): boolean {
    let isVolatile = this.#volatileNames.get(qualified);
    if (isVolatile === undefined) {
      const name = localName(qualified);
      isVolatile = this.#ignored.has(name) || TIME_PATTERNS.some((pattern) => pattern.test(name)) || SECRET_PATTERN.test(name);
      if (this.#volatileNames.size < MAX_CACHED_NAMES) this.#volatileNames.set(qualified, isVolatile);
    }
    return isVolatile;
  }

  #isIgnored(qualified: string): boolean {
    return this.#ignored.has(localName(qualified));
  }

  #addByte(byte: number): void {
    if (this.#scratchLength === SCRATCH_BYTES) this.#flush();
    this.#scratch[this.#scratchLength++] = byte;
  }

  #addBytes(buffer: Buffer, start: number, end: number): void {
    for (let offset = start; offset < end; offset++) this.#addByte(buffer[offset] as number);
  }

  #flush(): void {
    this.#hash.update(this.#scratch.subarray(0, this.#scratchLength));
    this.#scratchLength = 0;
  }
}

function localName(qualified: string): string {
  return qualified.slice(qualified.indexOf(':') + 1);
}
