/** Summaries of operations without their own texts. */
export const SUMMARY_TEXTS = {
  done: '__title__: done.',
  found: '__title__: __n__ found.',
  'found-one': '__title__: 1 found.',
  unchanged: '__title__: nothing had to be changed.',
  amiss: '__title__: finished with problems.',
  many: '__title__: __ok__ of __total__ done',
  none: '__title__: nothing to do.',
  planned: '__title__: would send __n__ requests.',
  'planned-one': '__title__: would send one request.',
  /** Behind `planned`. */
  'planned-items': 'For: __names__.',
  failed: '__title__: failed (__code__).',
  unknown: '__title__: it may or may not have happened.',
  gone: '; __n__ were gone already',
  'gone-one': '; 1 was gone already',
  'failed-items': '; __n__ failed',
  /** The names of the items, behind `many`. */
  items: ': __names__',
  /** The names of the items that failed or were gone, behind their count. */
  'items-part': ' (__names__)',
  /** A write whose effect was verified by a TLS handshake. */
  served: '__title__: done; the appliance serves __subject__ now.',
  /** Behind the sentence, if nobody has the given name. */
  similar: 'Nobody has exactly this name; similar names: __names__.',
  sentence: '__parts__.',
} as const;

export type SummaryKey = keyof typeof SUMMARY_TEXTS;

/**
 * An operation's own summary texts. `__field__` stands for a field of the input that is not secret, for a value or a count in the data, or
 * for `appliance`.
 */
export type SummaryTexts = Readonly<Partial<Record<SummaryKey, string>>>;
