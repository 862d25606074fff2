// @ts-check
// Translates the English texts sentence by sentence with one dictionary per language. A sentence without a translation stays English,
// and the tests report it (test/docs/pages.test.ts).
import { readdirSync, readFileSync } from 'node:fs';

/** @typedef {import('./table.mjs').Texts} Texts */

/** The spaces between two sentences. */
const SENTENCE_BREAK = /(?<=[.!?]) +(?=[A-Z`*"])/;
/** Languages that put no space between sentences. */
const LANGUAGES_WITHOUT_SPACES = new Set(['ja', 'zh-CN']);
/** Quotation marks of languages that do not use “…”. @type {Record<string, readonly [string, string]>} */
const QUOTES = { de: ['„', '“'], ja: ['「', '」'] };
/** The name and effect of an operation at the beginning of its help. */
const EFFECT_PATTERN = /^(`[\w-]+`) \(([^)]+)\)\.$/;

/** The label of a field at the beginning of its help. */
const LABEL_PATTERN = /^“([^”]+)”\. (.*)$/;

/** The dictionary of one language. It records the texts that were looked up. */
export class Translation {
  /** English texts that were looked up. @type {Set<string>} */
  used = new Set();
  /** Texts that were looked up but have no translation. @type {Set<string>} */
  missing = new Set();
  #separator;
  #dictionary;
  #quotes;

  /** @param {string} language @param {Readonly<Record<string, string>>} dictionary */
  constructor(language, dictionary) {
    this.#separator = LANGUAGES_WITHOUT_SPACES.has(language) ? '' : ' ';
    this.#dictionary = dictionary;
    this.#quotes = QUOTES[language] ?? ['“', '”'];
  }

  /** Dictionary entries that no text uses. */
  get unused() {
    return Object.keys(this.#dictionary).filter((english) => !this.used.has(english));
  }

  /** Translates one text. Returns the English text if there is no translation. @param {string} english */
  text(english) {
    if (!/[A-Za-z]{2}/.test(english)) return english;
    this.used.add(english);
    const translated = Object.hasOwn(this.#dictionary, english) ? this.#dictionary[english] : undefined;
    if (translated === undefined) this.missing.add(english);
    return translated ?? english;
  }

  /** Translates several sentences. It looks up the longest known run of sentences first. @param {string} english */
  sentences(english) {
    const sentences = english.split(SENTENCE_BREAK);
    /** @type {string[]} */
    const translated = [];
    for (let start = 0; start < sentences.length;) {
      let end = sentences.length;
      while (end > start + 1 && !this.#isKnown(sentences.slice(start, end).join(' '))) end--;
      const piece = sentences.slice(start, end).join(' ');
      const effect = EFFECT_PATTERN.exec(piece);
      translated.push(effect ? `${effect[1]} (${this.text(effect[2] ?? '')})${this.#separator === '' ? '。' : '.'}` : this.text(piece));
      start = end;
    }
    return translated.join(this.#separator);
  }

  /** True for a text of the catalog and for a key of the dictionary. @param {string} english */
  #isKnown(english) {
    return this.used.has(english) || Object.hasOwn(this.#dictionary, english);
  }

  /** Translates the texts of a nested catalog. @param {Texts} texts @returns {Texts} */
  catalog(texts) {
    return Object.fromEntries(
      Object.entries(texts).map(([key, value]) => [key, typeof value === 'string' ? this.text(value) : this.catalog(value)]),
    );
  }

  /** Translates the output of `buildHelp`, except code samples. Call it after `catalog`, because the help repeats texts of the catalog. @param {string} help */
  help(help) {
    /** @type {string[]} */
    const lines = [];
    /** @type {string[]} */
    let paragraph = [];
    let isCode = false;
    const flush = () => {
      if (paragraph.length > 0) lines.push(this.sentences(paragraph.join(' ')));
      paragraph = [];
    };
    for (const line of help.split('\n')) {
      const isFence = line.startsWith('```');
      const marked = /^(#+ |: \S+ \([^)]*\) : |- |\d+\. )(.*)$/.exec(line);
      if (isCode || isFence || marked || line === '' || line.startsWith('<')) flush();
      else paragraph.push(line.trim());
      if (isFence) isCode = !isCode;
      if (isCode || isFence || line === '' || line.startsWith('<')) lines.push(line);
      else if (marked) lines.push(`${marked[1]}${this.#translateItem(marked[1] ?? '', marked[2] ?? '')}`);
    }
    flush();
    return lines.join('\n');
  }

  /** Translates a heading or a list item. @param {string} mark @param {string} text */
  #translateItem(mark, text) {
    if (!mark.startsWith(':')) return this.sentences(text);
    const [, label, rest = ''] = LABEL_PATTERN.exec(plainText(text)) ?? [];
    if (label === undefined) return lineText(this.sentences(plainText(text)));
    return lineText(`${this.#quotes.join(this.text(label))}${this.#separator === '' ? '。' : '. '}${this.sentences(rest)}`);
  }
}

/** @type {Record<string, string>} */
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', ':': '&#58;' };
const escaped = (/** @type {string} */ text) => text.replace(/[&<>:]/g, (character) => ENTITIES[character] ?? character);

/** Escapes the text of a property list. Node-RED's parser of such lists accepts no colon, not even in code. @param {string} text */
export function lineText(text) {
  return text.replace(/`([^`]*)`|:/g, (match, /** @type {string | undefined} */ code) => {
    if (code === undefined) return escaped(':');
    return code.includes(':') ? `<code>${escaped(code)}</code>` : match;
  });
}

/** Reverses `lineText`. @param {string} text */
function plainText(text) {
  const unescape = (/** @type {string} */ escapedText) =>
    Object.entries(ENTITIES).reduceRight((plain, [character, entity]) => plain.replaceAll(entity, character), escapedText);
  return unescape(text.replace(/<code>([^<]*)<\/code>/g, '`$1`'));
}

/** Reads the dictionaries of a package. @param {string} root @returns {[string, Translation][]} */
export function readTranslations(root) {
  const folder = `${root}/nodes/locales`;
  const names = readdirSync(folder).flatMap((file) => (/^(?!en-US)[\w-]+(?=\.json$)/.exec(file)?.[0] ? [file.slice(0, -5)] : []));
  return names.map((name) => [name, new Translation(name, JSON.parse(readFileSync(`${folder}/${name}.json`, 'utf8')))]);
}

/**
 * Translates the English catalog and help of a package into all its languages. The first entry is English.
 * @param {string} root @param {Texts} catalog @param {string} help
 * @returns {[language: string, catalog: Texts, help: string][]}
 */
export function translateAll(root, catalog, help) {
  const translated = readTranslations(root).map(
    /** @returns {[string, Texts, string]} */ ([language, translation]) => [language, translation.catalog(catalog), translation.help(help)],
  );
  return [['en-US', catalog, help], ...translated];
}

/** Reads the English texts of the dialogs. @param {string} root @returns {import('./table.mjs').Texts} */
export function readOwnTexts(root) {
  return JSON.parse(readFileSync(`${root}/nodes/locales/en-US.json`, 'utf8'));
}

/**
 * Returns the texts of both catalogs, which can share groups.
 * @param {import('./table.mjs').Texts} first @param {import('./table.mjs').Texts} second @returns {import('./table.mjs').Texts}
 */
export function mergeTexts(first, second) {
  const merged = { ...first };
  for (const [key, value] of Object.entries(second)) {
    const existing = merged[key];
    merged[key] = typeof value === 'object' && typeof existing === 'object' ? mergeTexts(existing, value) : value;
  }
  return merged;
}
