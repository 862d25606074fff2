/** Does it so many turns of the event loop later, each of which looks at all sockets. */
export function afterEventLoopTicks(ticks: number, work: () => void): void {
  setImmediate(ticks > 1 ? () => afterEventLoopTicks(ticks - 1, work) : work);
}
