import { asGatewayError, GatewayError } from '../model/error';
import type { ErrorReason } from '../model/error-reasons';
import type { ErrorCode } from '../model/error-codes';
import type { JsonObject } from '../model/json';
import type { Request } from '../model/request';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';
import { parseIdentityPins } from '../model/rules';
import type { SessionApiKey } from '../login/session';
import { unwrapSystemInformation } from './identity';

/** Request for the identity of an appliance (appliance-api.md, "System information"). */
export const IDENTITY_REQUEST: Request = { method: 'GET', path: '/api/v1/system/system-information' };
/** Time for which a new connection counts as one to the same appliance, because some appliances close each connection after one response. */
const IDENTITY_TTL_MS = 60_000;
/** Codes of a healthy appliance that does not let this account read its identity. */
const IDENTITY_WITHHELD_CODES = new Set<ErrorCode>(['FORBIDDEN', 'NOT_FOUND', 'INVALID_REQUEST', 'REJECTED']);

/** The result of a check for one API key. */
interface PinCheck {
  readonly key: SessionApiKey;
  /** Number of connections opened before the check. */
  readonly opened: number;
  readonly at: number;
  readonly mismatch: GatewayError | undefined;
}

/**
 * Allows writes to the pinned appliance only. It checks the identity once per API key, because the appliance issues the keys. It checks
 * again after a new connection, at most once a minute, because a restored configuration may contain the keys.
 */
export class IdentityPin {
  readonly #allowed: ReadonlySet<string>;
  readonly #pinText: string;
  #lastCheck: PinCheck | undefined;
  #pendingCheck: Promise<SessionApiKey> | undefined;

  constructor(pin: string) {
    this.#pinText = pin;
    this.#allowed = new Set(parseIdentityPins(pin));
  }

  /** Whether this key belongs to the pinned appliance. Errors: `BAD_CONFIG` when it belongs to another one. */
  isVerified(key: SessionApiKey, opened: number): boolean {
    const lastCheck = this.#lastCheck;
    if (lastCheck?.key !== key || (lastCheck.opened !== opened && performance.now() - lastCheck.at > IDENTITY_TTL_MS)) return false;
    if (lastCheck.mismatch) throw lastCheck.mismatch;
    return true;
  }

  /**
   * Checks the identity once for all waiting runs and returns the key of that request. Errors: `BAD_CONFIG` for another appliance or one
   * that does not report its identity; those of the request.
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
        throw createPinError(safeMessage`The appliance does not report its identity to this account (${trusted(error.code)})`);
      // The write was not sent, whatever happened to the identity request.
      throw new GatewayError(error.code, error.safeMessage, { ...error.details, sent: false });
    }
  }

  #findMismatch(document: JsonObject): GatewayError | undefined {
    const identifiers = readIdentifiers(document);
    if (identifiers.some((name) => this.#allowed.has(name.toUpperCase()))) return undefined;
    if (identifiers.length === 0) return createPinError(safeMessage`The appliance reports neither a serial number nor a machine id`);
    return createPinError(
      safeMessage`Another appliance answers at this address: it reports ${identifiers.join(', ')}, but ${this.#pinText} is pinned`,
      'other-appliance',
    );
  }
}

/** Serial number and machine id, if the appliance reports them. */
function readIdentifiers(document: JsonObject): string[] {
  const system = unwrapSystemInformation(document);
  return [system['serial-number'], system['machine-id']].filter((name): name is string => typeof name === 'string' && name.trim() !== '');
}

function createPinError(reason: SafeMessage, statusReason: ErrorReason = 'identity-unknown'): GatewayError {
  return new GatewayError(
    'BAD_CONFIG',
    safeMessage`${reason}. Nothing was written. If that is right, change the identity pin in the appliance node.`,
    { sent: false, statusReason },
  );
}
