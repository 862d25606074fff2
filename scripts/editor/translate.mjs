// @ts-check
// Other languages: a dictionary from the English texts, sentence by sentence, to those of a language. What a text is changes in one
// place, and a translation that does not know it any more shows (test/editor/locales.test.ts).

/** @typedef {import('./table.mjs').Texts} Texts */

/** Where a sentence ends and another begins. */
const BETWEEN = /(?<=[.!?]) +(?=[A-Z`*"])/;
/** Languages that put no space between sentences. */
const CLOSE = new Set(['ja', 'zh-CN']);
/** Quotation marks, where they are others. @type {Record<string, readonly [string, string]>} */
const QUOTES = { de: ['„', '“'], ja: ['「', '」'] };
/** The first words of an operation in the help: its name, and what it does. */
const EFFECT = /^(`[\w-]+`) \(([^)]+)\)\.$/;

/** What a field is called in the dialog, before what it means. */
const LABEL = /^“([^”]+)”\. (.*)$/;

/** One language, and what was asked of it. */
export class Translation {
  /** English texts that were asked for. @type {Set<string>} */
  used = new Set();
  /** Those of them that there are none for. @type {Set<string>} */
  missing = new Set();
  #between;
  #dictionary;
  #quotes;

  /** @param {string} language @param {Readonly<Record<string, string>>} dictionary */
  constructor(language, dictionary) {
    this.#between = CLOSE.has(language) ? '' : ' ';
    this.#dictionary = dictionary;
    this.#quotes = QUOTES[language] ?? ['“', '”'];
  }

  /** Those that are of no use. */
  get unused() {
    return Object.keys(this.#dictionary).filter((english) => !this.used.has(english));
  }

  /** One text as a whole; itself where there is none. @param {string} english */
  text(english) {
    if (!/[A-Za-z]{2}/.test(english)) return english;
    this.used.add(english);
    const found = Object.hasOwn(this.#dictionary, english) ? this.#dictionary[english] : undefined;
    if (found === undefined) this.missing.add(english);
    return found ?? english;
  }

  /** Some sentences, in pieces as long as they are known. @param {string} english */
  sentences(english) {
    const all = english.split(BETWEEN);
    /** @type {string[]} */
    const said = [];
    for (let at = 0; at < all.length;) {
      let to = all.length;
      while (to > at + 1 && !this.#knows(all.slice(at, to).join(' '))) to--;
      const piece = all.slice(at, to).join(' ');
      const effect = EFFECT.exec(piece);
      said.push(effect ? `${effect[1]} (${this.text(effect[2] ?? '')})${this.#between === '' ? '。' : '.'}` : this.text(piece));
      at = to;
    }
    return said.join(this.#between);
  }

  /** Of the catalogue, or in the dictionary. @param {string} english */
  #knows(english) {
    return this.used.has(english) || Object.hasOwn(this.#dictionary, english);
  }

  /** Texts of the catalogue, as they are nested. @param {Texts} texts @returns {Texts} */
  catalogue(texts) {
    return Object.fromEntries(
      Object.entries(texts).map(([key, value]) => [key, typeof value === 'string' ? this.text(value) : this.catalogue(value)]),
    );
  }

  /** The help of all nodes, as `buildHelp` gives it. Samples stay as they are. After the catalogue, whose texts it repeats. @param {string} help */
  help(help) {
    /** @type {string[]} */
    const out = [];
    /** @type {string[]} */
    let paragraph = [];
    let isCode = false;
    const flush = () => {
      if (paragraph.length > 0) out.push(this.sentences(paragraph.join(' ')));
      paragraph = [];
    };
    for (const line of help.split('\n')) {
      const isFence = line.startsWith('```');
      const marked = /^(#+ |: \S+ \([^)]*\) : |- |\d+\. )(.*)$/.exec(line);
      if (isCode || isFence || marked || line === '' || line.startsWith('<')) flush();
      else paragraph.push(line.trim());
      if (isFence) isCode = !isCode;
      if (isCode || isFence || line === '' || line.startsWith('<')) out.push(line);
      else if (marked) out.push(`${marked[1]}${this.#marked(marked[1] ?? '', marked[2] ?? '')}`);
    }
    flush();
    return out.join('\n');
  }

  /** @param {string} mark @param {string} text */
  #marked(mark, text) {
    if (!mark.startsWith(':')) return this.sentences(text);
    const [, label, rest = ''] = LABEL.exec(plainText(text)) ?? [];
    if (label === undefined) return lineText(this.sentences(plainText(text)));
    return lineText(`${this.#quotes.join(this.text(label))}${this.#between === '' ? '。' : '. '}${this.sentences(rest)}`);
  }
}

/** @type {Record<string, string>} */
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', ':': '&#58;' };
const escaped = (/** @type {string} */ text) => text.replace(/[&<>:]/g, (character) => ENTITIES[character] ?? character);

/** The text of a line of a list of properties: Node-RED's reader of such lists takes no colon in it, not even in code. @param {string} text */
export function lineText(text) {
  return text.replace(/`([^`]*)`|:/g, (found, /** @type {string | undefined} */ code) => {
    if (code === undefined) return escaped(':');
    return code.includes(':') ? `<code>${escaped(code)}</code>` : found;
  });
}

/** What it was made from. @param {string} text */
function plainText(text) {
  const plain = (/** @type {string} */ some) =>
    Object.entries(ENTITIES).reduceRight((left, [character, entity]) => left.replaceAll(entity, character), some);
  return plain(text.replace(/<code>([^<]*)<\/code>/g, '`$1`'));
}
