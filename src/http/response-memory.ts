import { GatewayError } from '../model/error';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';

/**
 * Limits for one buffered response and for all of them in this process. Parsed JSON can take twenty times its size; a Node-RED with a heap
 * of 2 GB survives these limits. Streamed exports do not count.
 */
export const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;
const MAX_RESERVED_BYTES = 64 * 1024 * 1024;
let reservedBytes = 0;

/** The share of the response memory that one response holds. */
export class MemoryReservation {
  #bytes = 0;

  /** Reserves memory. Returns false when the limit of the process would be exceeded. */
  tryReserve(bytes: number): boolean {
    if (reservedBytes + bytes > MAX_RESERVED_BYTES) return false;
    this.#bytes += bytes;
    reservedBytes += bytes;
    return true;
  }

  release(): void {
    reservedBytes -= this.#bytes;
    this.#bytes = 0;
  }
}

export function createResponseTooLargeError(host: string): GatewayError {
  return limitError(
    safeMessage`The answer of ${trusted(host)} is larger than ${trusted(toMebibytes(MAX_RESPONSE_BYTES))}. Ask for a smaller part of it, or export it to a file.`,
  );
}

export function createResponseMemoryError(host: string): GatewayError {
  return limitError(
    safeMessage`With the answer of ${trusted(host)}, this process would hold more than ${trusted(toMebibytes(MAX_RESERVED_BYTES))} of answers. Run fewer requests at the same time.`,
  );
}

function limitError(message: SafeMessage): GatewayError {
  return new GatewayError('LIMIT', message, { sent: true });
}

function toMebibytes(bytes: number): string {
  return `${bytes / 1024 / 1024} MiB`;
}
