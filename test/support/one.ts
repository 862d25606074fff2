import { expect } from 'vitest';
import type { Envelope } from '../../src/model/envelope';
import type { Message, Outcome } from './node-red';

export interface Failure {
  message: string;
  code: string;
  cause: Envelope;
}

/** The message of a success, after checking that it was the only thing that happened. */
export function success({ out, failed, caught, completed }: Outcome): Message & { envelope: Envelope } {
  expect({ out: out.length, failed: failed.length, caught: caught.map(({ error }) => error), completed }).toEqual({
    out: 1,
    failed: 0,
    caught: [],
    completed: 1,
  });
  return out[0] as Message & { envelope: Envelope };
}

/** How often each way was taken; what is not named, never. */
function only(
  { out, failed, caught, completed }: Outcome,
  wanted: Partial<Record<'out' | 'failed' | 'caught' | 'completed', number>>,
): void {
  const counts = { out: out.length, failed: failed.length, caught: caught.length, completed };
  expect(counts).toEqual({ out: 0, failed: 0, caught: 0, completed: 0, ...wanted });
}

/** What a Catch node got, after checking that it was the only thing that happened. */
export function caught(outcome: Outcome): Message & { error: Failure; envelope: Envelope } {
  only(outcome, { caught: 1 });
  return outcome.caught[0] as Message & { error: Failure; envelope: Envelope };
}

/** What the second output sent, after checking that it was the only thing that happened. */
export function failed(outcome: Outcome): Message & { error: Failure; envelope: Envelope } {
  only(outcome, { failed: 1, completed: 1 });
  return outcome.failed[0] as Message & { error: Failure; envelope: Envelope };
}
