import { describe, expect, it } from 'vitest';
import { toDatabaseError } from '../store/database';

describe('toDatabaseError', () => {
  it.each([
    ['relation "run" does not exist', 'relation "run" does not exist.'],
    ['It is not here.', 'It is not here.'],
    ['Look into ../data/..', 'Look into ../data/.'],
    ['Wait... ', 'Wait.'],
    [`${'x'.repeat(199)}. And more.`, `${'x'.repeat(199)}.`],
  ])('toDatabaseError ends the message of the database %j with one full stop', (message, expected) => {
    expect(toDatabaseError(new Error(message)).message).toBe(`The database of the fleet rejected a command: ${expected}`);
  });
});
