/** Describes what is wrong with the content. Callers convert it to `BAD_RESPONSE` or `BAD_INPUT`, depending on its source. */
export class MalformedContentError extends Error {}
