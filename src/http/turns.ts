/** Does it so many turns of the event loop later, each of which looks at all sockets. */
export function afterTurns(turns: number, work: () => void): void {
  setImmediate(turns > 1 ? () => afterTurns(turns - 1, work) : work);
}
