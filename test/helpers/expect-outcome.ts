import { expect } from 'vitest';
import type { Envelope } from '../../src/model/envelope';
import type { Message, MessageOutcome } from './node-red';

export interface MessageError {
  message: string;
  code: string;
  cause: Envelope;
}

/** The message of a success, after checking that it was the only thing that happened. */
export function expectSuccess({ out, failed, caught, completed }: MessageOutcome): Message & { envelope: Envelope } {
  expect({ out: out.length, failed: failed.length, caught: caught.map(({ error }) => error), completed }).toEqual({
    out: 1,
    failed: 0,
    caught: [],
    completed: 1,
  });
  return out[0] as Message & { envelope: Envelope };
}

/** How often each way was taken; what is not named, never. */
function expectCounts(
  { out, failed, caught, completed }: MessageOutcome,
  wanted: Partial<Record<'out' | 'failed' | 'caught' | 'completed', number>>,
): void {
  const counts = { out: out.length, failed: failed.length, caught: caught.length, completed };
  expect(counts).toEqual({ out: 0, failed: 0, caught: 0, completed: 0, ...wanted });
}

/** What a Catch node got, after checking that it was the only thing that happened. */
export function expectCaught(outcome: MessageOutcome): Message & { error: MessageError; envelope: Envelope } {
  expectCounts(outcome, { caught: 1 });
  return outcome.caught[0] as Message & { error: MessageError; envelope: Envelope };
}

/** What the second output sent, after checking that it was the only thing that happened. */
export function expectSecondOutput(outcome: MessageOutcome): Message & { error: MessageError; envelope: Envelope } {
  expectCounts(outcome, { failed: 1, completed: 1 });
  return outcome.failed[0] as Message & { error: MessageError; envelope: Envelope };
}
