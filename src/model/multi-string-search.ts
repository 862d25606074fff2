/** From the first character to the one after the last. */
export type TextMatchSpan = [start: number, end: number];

/** Shorter texts occur inside ordinary words, so they count only where they stand alone. */
const MIN_LONG_LENGTH = 4;
const SLOTS = 0x10000;

/**
 * Finds many texts in one pass, in time linear in the length of the text. A bit table over the last four characters finds candidates; a
 * binary search confirms them. Not a regular expression, because V8 quotes a pattern that is too long in its error.
 */
export class MultiStringSearch {
  readonly #short: string[] = [];
  readonly #long: string[] = [];
  /** For each long text, the index of the longest other text that is a prefix of it; negative when there is none. */
  readonly #longestPrefixes: number[] = [];
  readonly #starts = new Uint8Array(SLOTS);
  #longest = 0;

  constructor(texts: Iterable<string>) {
    for (const text of new Set(texts)) if (text !== '') (text.length < MIN_LONG_LENGTH ? this.#short : this.#long).push(text);
    this.#long.sort();
    const open: number[] = [];
    this.#long.forEach((text, index) => {
      while (open.length > 0 && !text.startsWith(this.#long[open.at(-1) as number] as string)) open.pop();
      this.#longestPrefixes.push(open.at(-1) ?? -1);
      open.push(index);
      this.#starts[toSlot(text)] = 1;
      this.#longest = Math.max(this.#longest, text.length);
    });
  }

  /** Returns the matches in order. Matches of short texts may overlap with others. */
  findSpans(text: string): TextMatchSpan[] {
    const spans = this.#longSpans(text);
    for (const short of this.#short) addStandaloneSpans(text, short, spans);
    return this.#short.length === 0 ? spans : spans.sort(([one], [other]) => one - other);
  }

  /** Whether a text can match at all. It allocates nothing and may report a match that does not exist. */
  mayMatch(text: string): boolean {
    for (const short of this.#short) if (text.includes(short)) return true;
    return this.#long.length > 0 && this.#nextCandidate(text, 0) >= 0;
  }

  #longSpans(text: string): TextMatchSpan[] {
    const spans: TextMatchSpan[] = [];
    if (this.#long.length === 0) return spans;
    for (let start = this.#nextCandidate(text, 0); start >= 0; start = this.#nextCandidate(text, start + 1)) {
      const length = this.#longestAt(text, start);
      if (length > 0) addSpan(spans, start, start + length);
    }
    return spans;
  }

  /** The next position where a long text may begin; negative when there is none. */
  #nextCandidate(text: string, from: number): number {
    const starts = this.#starts;
    let slot = 0;
    for (let at = from; at < text.length; at++) {
      slot = ((slot << 4) ^ text.charCodeAt(at)) & 0xffff;
      if (starts[slot] !== 0 && at >= from + MIN_LONG_LENGTH - 1) return at - MIN_LONG_LENGTH + 1;
    }
    return -1;
  }

  /**
   * The length of the longest text that begins at `start`. It is the last one in sorted order before the rest of the text, or one of its
   * prefixes.
   */
  #longestAt(text: string, start: number): number {
    const here = text.slice(start, start + this.#longest);
    let low = 0;
    let high = this.#long.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#long[middle] as string) <= here) low = middle + 1;
      else high = middle;
    }
    const common = commonLength(this.#long[low - 1] ?? '', here);
    for (let index = low - 1; index >= 0; index = this.#longestPrefixes[index] as number) {
      const { length } = this.#long[index] as string;
      if (length <= common) return length;
    }
    return 0;
  }
}

/** Merges overlapping matches, so that the list never gets longer than the text. */
function addSpan(spans: TextMatchSpan[], start: number, end: number): void {
  const last = spans.at(-1);
  if (last && start < last[1]) last[1] = Math.max(last[1], end);
  else spans.push([start, end]);
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one.charCodeAt(length) === other.charCodeAt(length)) length++;
  return length;
}

/** Hashes the first four characters of a text. */
function toSlot(text: string): number {
  let slot = 0;
  for (let at = 0; at < MIN_LONG_LENGTH; at++) slot = ((slot << 4) ^ text.charCodeAt(at)) & 0xffff;
  return slot;
}

function addStandaloneSpans(text: string, needle: string, spans: TextMatchSpan[]): void {
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1)) {
    const end = at + needle.length;
    if (!isWordAt(text, at - 1) && !isWordAt(text, end)) spans.push([at, end]);
  }
}

function isWordAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}
