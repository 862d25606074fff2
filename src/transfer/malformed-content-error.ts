/** Says in a few words what is wrong with the content; `BAD_RESPONSE` or `BAD_INPUT` is made of it, depending on where it came from. */
export class MalformedContentError extends Error {}
