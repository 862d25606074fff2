/** What may stand in a sentence: a text is from outside, a number and another sentence (also that of an error) are ours. */
type MessagePart = string | number | SafeMessage | { readonly safeMessage: SafeMessage };

interface MessagePiece {
  readonly text: string;
  readonly isUntrusted: boolean;
}

/**
 * A sentence of ours, in which what came from outside is still told apart: secrets are masked in that alone. Masked as a whole it
 * would lose words of its own to a password such as `no`, and whoever knows the sentence would read the password off the gap.
 */
export class SafeMessage {
  readonly #pieces: readonly MessagePiece[];

  constructor(pieces: readonly MessagePiece[]) {
    this.#pieces = pieces;
  }

  /** The text, with `mask` applied to what is from outside. */
  text(mask: (untrusted: string) => string = (untrusted) => untrusted): string {
    return this.#pieces.map(({ text, isUntrusted }) => (isUntrusted ? mask(text) : text)).join('');
  }

  toString(): string {
    return this.text();
  }

  static fromParts(literals: readonly string[], parts: readonly MessagePart[]): SafeMessage {
    const pieces: MessagePiece[] = [];
    literals.forEach((text, index) => {
      pieces.push({ text, isUntrusted: false });
      const part = parts[index];
      if (part === undefined) return;
      if (typeof part === 'object') pieces.push(...(part instanceof SafeMessage ? part : part.safeMessage).#pieces);
      else pieces.push({ text: String(part), isUntrusted: typeof part === 'string' });
    });
    return new SafeMessage(pieces);
  }
}

/** Template tag for what people read: the words of the template are ours, every text between braces is from outside. */
export function safeMessage(literals: TemplateStringsArray, ...parts: MessagePart[]): SafeMessage {
  return SafeMessage.fromParts(literals, parts);
}

/** A text that is ours although it is in a variable: a word from a table, a field's name, the address that was configured. */
export function trusted(text: string): SafeMessage {
  return new SafeMessage([{ text, isUntrusted: false }]);
}

/** Several with the same words between them, such as the names that there are. */
export function joinMessageParts(parts: readonly MessagePart[], separator: string): SafeMessage {
  const literals = parts.map((_, index) => (index === 0 ? '' : separator));
  return SafeMessage.fromParts(literals, parts);
}
