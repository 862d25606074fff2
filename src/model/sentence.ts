/** What may stand in a sentence: a text is from outside, a number and another sentence (also that of an error) are ours. */
type Part = string | number | Sentence | { readonly sentence: Sentence };

interface Piece {
  readonly text: string;
  readonly outside: boolean;
}

/**
 * A sentence of ours, in which what came from outside is still told apart: secrets are masked in that alone. Masked as a whole it
 * would lose words of its own to a password such as `no`, and whoever knows the sentence would read the password off the gap.
 */
export class Sentence {
  readonly #pieces: readonly Piece[];

  constructor(pieces: readonly Piece[]) {
    this.#pieces = pieces;
  }

  /** The text, with `mask` applied to what is from outside. */
  text(mask: (outside: string) => string = (outside) => outside): string {
    return this.#pieces.map(({ text, outside }) => (outside ? mask(text) : text)).join('');
  }

  toString(): string {
    return this.text();
  }

  static of(words: readonly string[], parts: readonly Part[]): Sentence {
    const pieces: Piece[] = [];
    words.forEach((text, index) => {
      pieces.push({ text, outside: false });
      const part = parts[index];
      if (part === undefined) return;
      if (typeof part === 'object') pieces.push(...(part instanceof Sentence ? part : part.sentence).#pieces);
      else pieces.push({ text: String(part), outside: typeof part === 'string' });
    });
    return new Sentence(pieces);
  }
}

/** Template tag for what people read: the words of the template are ours, every text between braces is from outside. */
export function sentence(words: TemplateStringsArray, ...parts: Part[]): Sentence {
  return Sentence.of(words, parts);
}

/** A text that is ours although it is in a variable: a word from a table, a field's name, the address that was configured. */
export function ours(text: string): Sentence {
  return new Sentence([{ text, outside: false }]);
}

/** Several with the same words between them, such as the names that there are. */
export function joined(parts: readonly Part[], between: string): Sentence {
  const words = parts.map((_, index) => (index === 0 ? '' : between));
  return Sentence.of(words, parts);
}
