import { asGatewayError, GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import type { JsonObject } from '../model/json';
import type { Request } from '../model/request';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';
import { parsePins } from '../model/rules';
import type { SessionApiKey } from '../login/session';
import { unwrapSystemInformation } from './identity';

/** Where an appliance tells who it is (appliance-api.md, "System information"). */
export const IDENTITY_REQUEST: Request = { method: 'GET', path: '/api/v1/system/system-information' };
/** So long a new connection is taken to lead to the same appliance: some close each after one answer. */
const IDENTITY_TTL_MS = 60_000;
/** What an appliance that is well answers where this account may not read who it is. */
const IDENTITY_WITHHELD_CODES = new Set<ErrorCode>(['FORBIDDEN', 'NOT_FOUND', 'INVALID_REQUEST', 'REJECTED']);

/** What was found at the other end of a key. */
interface PinCheck {
  readonly key: SessionApiKey;
  /** Connections that had been opened by then. */
  readonly opened: number;
  readonly at: number;
  readonly mismatch: GatewayError | undefined;
}

/**
 * Which appliance may be written to. It is asked who it is once for each key, for it is the one who issues keys, and again when a connection
 * was opened since, at most once a minute: a restored configuration may bring its keys along.
 */
export class IdentityPin {
  readonly #allowed: ReadonlySet<string>;
  readonly #pinText: string;
  #lastCheck: PinCheck | undefined;
  #pendingCheck: Promise<SessionApiKey> | undefined;

  constructor(pin: string) {
    this.#pinText = pin;
    this.#allowed = new Set(parsePins(pin));
  }

  /** Whether this key is known to be of the pinned appliance. Errors: `BAD_CONFIG` where it is known to be of another one. */
  isVerified(key: SessionApiKey, opened: number): boolean {
    const lastCheck = this.#lastCheck;
    if (lastCheck?.key !== key || (lastCheck.opened !== opened && performance.now() - lastCheck.at > IDENTITY_TTL_MS)) return false;
    if (lastCheck.mismatch) throw lastCheck.mismatch;
    return true;
  }

  /**
   * Finds it out, once for all who wait for it, and gives the key that the answer came by. Errors: `BAD_CONFIG` where it is another
   * appliance, or does not tell; those of the request.
   */
  verify(readIdentity: () => Promise<{ key: SessionApiKey; document: JsonObject }>, opened: () => number): Promise<SessionApiKey> {
    this.#pendingCheck ??= this.#runCheck(readIdentity, opened).finally(() => (this.#pendingCheck = undefined));
    return this.#pendingCheck;
  }

  async #runCheck(readIdentity: () => Promise<{ key: SessionApiKey; document: JsonObject }>, opened: () => number): Promise<SessionApiKey> {
    try {
      const { key, document } = await readIdentity();
      const mismatch = this.#findMismatch(document);
      this.#lastCheck = { key, opened: opened(), at: performance.now(), mismatch };
      if (mismatch) throw mismatch;
      return key;
    } catch (thrown) {
      const error = asGatewayError(thrown);
      if (error.requestCode && IDENTITY_WITHHELD_CODES.has(error.requestCode))
        throw createPinError(safeMessage`The appliance does not tell this account who it is (${trusted(error.code)})`);
      // What was to be written has not been sent, whatever became of the question.
      throw new GatewayError(error.code, error.safeMessage, { ...error.details, sent: false });
    }
  }

  #findMismatch(document: JsonObject): GatewayError | undefined {
    const identifiers = readIdentifiers(document);
    if (identifiers.some((name) => this.#allowed.has(name.toUpperCase()))) return undefined;
    if (identifiers.length === 0) return createPinError(safeMessage`The appliance tells neither a serial number nor a machine id`);
    return createPinError(
      safeMessage`Another appliance answers at this address: it tells ${identifiers.join(', ')}, and pinned is ${this.#pinText}`,
    );
  }
}

/** Serial number and machine id, as far as they are told. */
function readIdentifiers(document: JsonObject): string[] {
  const system = unwrapSystemInformation(document);
  return [system['serial-number'], system['machine-id']].filter((name): name is string => typeof name === 'string' && name.trim() !== '');
}

function createPinError(reason: SafeMessage): GatewayError {
  return new GatewayError(
    'BAD_CONFIG',
    safeMessage`${reason}. Nothing was written. If that is right, change the identity pin in the appliance node.`,
    { sent: false },
  );
}
