import { GatewayError } from '../model/error';
import { ours, sentence, type Sentence } from '../model/sentence';

/**
 * The most that one answer may hold which is read whole, and all of them together that are under way in this process. As objects,
 * JSON can take twenty times its length: this is what a Node-RED with a heap of 2 GB survives. Exports stream and have no such limit.
 */
export const MOST_BYTES = 32 * 1024 * 1024;
const MOST_TOGETHER = 64 * 1024 * 1024;
let together = 0;

/** What one answer that is under way has of the memory for all. */
export class Share {
  #bytes = 0;

  /** False when that is more than there is. */
  add(bytes: number): boolean {
    if (together + bytes > MOST_TOGETHER) return false;
    this.#bytes += bytes;
    together += bytes;
    return true;
  }

  giveBack(): void {
    together -= this.#bytes;
    this.#bytes = 0;
  }
}

export function tooLong(host: string): GatewayError {
  return limit(
    sentence`The answer of ${ours(host)} is larger than ${ours(mebibytes(MOST_BYTES))}. Ask for a smaller part of it, or export it to a file.`,
  );
}

export function tooMuchAtOnce(host: string): GatewayError {
  return limit(
    sentence`With the answer of ${ours(host)}, more than ${ours(mebibytes(MOST_TOGETHER))} of answers are under way in this process. Ask for less at the same time.`,
  );
}

function limit(words: Sentence): GatewayError {
  return new GatewayError('LIMIT', words, { sent: true });
}

function mebibytes(bytes: number): string {
  return `${bytes / 1024 / 1024} MiB`;
}
