/** A part of a message: a text is untrusted; a number, another message and an error are trusted. */
type MessagePart = string | number | SafeMessage | { readonly safeMessage: SafeMessage };

interface MessagePiece {
  readonly text: string;
  readonly isUntrusted: boolean;
}

/**
 * A message that knows which of its parts come from outside. Only those are masked: a password such as `no` would otherwise mask our own
 * words, and the gap would reveal it.
 */
export class SafeMessage {
  readonly #pieces: readonly MessagePiece[];

  constructor(pieces: readonly MessagePiece[]) {
    this.#pieces = pieces;
  }

  /** The text, with `mask` applied to the untrusted parts. */
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

/** Template tag for messages: the literals are trusted, every text between braces is untrusted. */
export function safeMessage(literals: TemplateStringsArray, ...parts: MessagePart[]): SafeMessage {
  return SafeMessage.fromParts(literals, parts);
}

/** Marks a variable text as trusted: a word from a table, a field name, the configured address. */
export function trusted(text: string): SafeMessage {
  return new SafeMessage([{ text, isUntrusted: false }]);
}

/** Joins parts, such as a list of names, with a trusted separator. */
export function joinMessageParts(parts: readonly MessagePart[], separator: string): SafeMessage {
  const literals = parts.map((_, index) => (index === 0 ? '' : separator));
  return SafeMessage.fromParts(literals, parts);
}
