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

/** What a Catch node got, after checking that it was the only thing that happened. */
export function caught({ out, failed, caught, completed }: Outcome): Message & { error: Failure; envelope: Envelope } {
  expect({ out: out.length, failed: failed.length, caught: caught.length, completed }).toEqual({
    out: 0,
    failed: 0,
    caught: 1,
    completed: 0,
  });
  return caught[0] as Message & { error: Failure; envelope: Envelope };
}

/** What the second output sent, after checking that it was the only thing that happened. */
export function failed({ out, failed, caught, completed }: Outcome): Message & { error: Failure; envelope: Envelope } {
  expect({ out: out.length, failed: failed.length, caught: caught.length, completed }).toEqual({
    out: 0,
    failed: 1,
    caught: 0,
    completed: 1,
  });
  return failed[0] as Message & { error: Failure; envelope: Envelope };
}
