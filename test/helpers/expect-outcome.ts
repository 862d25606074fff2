import { expect } from 'vitest';
import type { Envelope } from '../../src/model/envelope';
import type { Message, MessageOutcome } from './node-red';

export interface MessageError {
  message: string;
  code: string;
  cause: Envelope;
}

/** Returns the message of a success and checks that nothing else happened. */
export function expectSuccess({ out, failed, caught, completed }: MessageOutcome): Message & { envelope: Envelope } {
  expect({ out: out.length, failed: failed.length, caught: caught.map(({ error }) => error), completed }).toEqual({
    out: 1,
    failed: 0,
    caught: [],
    completed: 1,
  });
  return out[0] as Message & { envelope: Envelope };
}

/** How often each output was used; default: never. */
function expectCounts(
  { out, failed, caught, completed }: MessageOutcome,
  wanted: Partial<Record<'out' | 'failed' | 'caught' | 'completed', number>>,
): void {
  const counts = { out: out.length, failed: failed.length, caught: caught.length, completed };
  expect(counts).toEqual({ out: 0, failed: 0, caught: 0, completed: 0, ...wanted });
}

/** Returns the message of the Catch node and checks that nothing else happened. */
export function expectCaught(outcome: MessageOutcome): Message & { error: MessageError; envelope: Envelope } {
  expectCounts(outcome, { caught: 1 });
  return outcome.caught[0] as Message & { error: MessageError; envelope: Envelope };
}

/** Returns the message of the second output and checks that nothing else happened. */
export function expectSecondOutput(outcome: MessageOutcome): Message & { error: MessageError; envelope: Envelope } {
  expectCounts(outcome, { failed: 1, completed: 1 });
  return outcome.failed[0] as Message & { error: MessageError; envelope: Envelope };
}
