import { isObject } from '../model/json';
import { KNOWN_INTERFACE_KEYS } from './documented';

/** Stands for a key that may be a personal name. */
export const MASKED_KEY = '*';

const MAX_KEY_LENGTH = 40;
const MAX_DEPTH = 20;
/** Maximum number of unknown keys of an object. An object with more is a map whose keys are data. */
const MAX_UNKNOWN_KEYS = 60;
/** Words as the interface writes them: `idle-timeout`, `snmpEnforcement`, `SWAP-UTILIZATION`. */
const WORD = /^(?:[a-z][A-Za-z]*\d?(?:[-_][A-Za-z]+\d?)*|[A-Z]+\d?(?:-[A-Z]+\d?)*)$/;
const BRANDED = /^[A-Za-z]+(?:-client-version|-enforcer|-sdk-version)$/;

/**
 * Decides which keys may appear in a report. A key that the interface does not know is masked unless it looks like a word of an interface
 * and is not also a value somewhere, such as a user name.
 */
export class MaskedKeyNames {
  readonly #values = new Set<string>();
  #isMapSeen = false;

  /** Remembers all texts of a document, so that a key with the same text is masked. */
  collect(value: unknown, depth = 0): void {
    if (depth > MAX_DEPTH) return;
    if (typeof value === 'string') {
      // A name may be in a list of names, or be a part of an address.
      for (const part of [value, ...value.slice(0, 2000).split(/[\s,;@\\/]+/)]) this.#values.add(part.toLowerCase());
    } else if (Array.isArray(value)) for (const item of value) this.collect(item, depth + 1);
    else if (isObject(value)) {
      const unknownKeys = Object.keys(value).filter((key) => !KNOWN_INTERFACE_KEYS.has(key));
      if (unknownKeys.length > MAX_UNKNOWN_KEYS) this.#isMapSeen = true;
      // A link repeats the key that it belongs to.
      for (const [key, item] of Object.entries(value)) if (key !== 'href') this.collect(item, depth + 1);
    }
  }

  /** The key itself, or `*`. Call it when everything was collected. */
  readonly show = (key: string): string => {
    if (KNOWN_INTERFACE_KEYS.has(key)) return key;
    const isWord = WORD.test(key) || BRANDED.test(key);
    if (!isWord || key.length > MAX_KEY_LENGTH || this.#values.has(key.toLowerCase())) return MASKED_KEY;
    return this.#isMapSeen && !BRANDED.test(key) ? MASKED_KEY : key;
  };
}
