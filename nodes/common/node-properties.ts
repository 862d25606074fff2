import { GatewayError } from '../../src/model/error';
import type { ErrorReason } from '../../src/model/error-reasons';
import { parseVariableReference } from './rules';
import { trusted, safeMessage, type SafeMessage } from '../../src/model/safe-message';

/** Creates the error of a misconfigured node. The text says what is wrong and what to do. */
export function badConfig(message: string | SafeMessage, statusReason?: ErrorReason): GatewayError {
  return new GatewayError('BAD_CONFIG', typeof message === 'string' ? trusted(message) : message, {
    sent: false,
    ...(statusReason && { statusReason }),
  });
}

/** Matches a variable name such as `VPN_PASSWORD`. Other text after `$` can be an unusual password. */
const VARIABLE_NAME = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/;

/** Creates the error of an unset variable. For a secret, the error names the variable only if the name cannot be a password. */
export function createUnsetVariableError(name: string, variable: string, isSecret = false): GatewayError {
  const variableText = isSecret && !VARIABLE_NAME.test(variable) ? trusted('') : safeMessage` ${variable}`;
  return badConfig(
    safeMessage`${trusted(name)} uses the environment variable${variableText}, which is not set. Set it where Node-RED starts.`,
    'variable-not-set',
  );
}

/**
 * Reads the properties of a node. A value can have its own type or be text, from a variable or a hand-written flow. An empty text counts
 * as missing. Errors: `BAD_CONFIG` with the property.
 */
export class NodeProperties {
  constructor(private readonly values: Readonly<Record<string, unknown>>) {}

  text(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    throw badConfig(safeMessage`${trusted(name)} must be text. Open the node and enter it again.`);
  }

  /** Reads a credential. An error names its variable only if the name cannot be a password. */
  secret(name: string): string | undefined {
    const variable = parseVariableReference(this.values[name]);
    if (variable !== undefined) throw createUnsetVariableError(name, variable, true);
    return this.text(name);
  }

  number(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined || value.trim() === '') return undefined;
    const number = Number(value);
    if (!Number.isFinite(number)) throw badConfig(safeMessage`${trusted(name)} must be a number, not ${JSON.stringify(value)}.`);
    return number;
  }

  /** Reads a boolean. An unknown value is an error, because false would switch off a guard. */
  flag(name: string): boolean {
    const value = this.text(name);
    if (value === undefined || value === 'false') return false;
    if (value === 'true') return true;
    throw badConfig(safeMessage`${trusted(name)} must be true or false, not ${JSON.stringify(value)}.`);
  }

  choice<const C extends string>(name: string, choices: readonly [C, ...C[]]): C {
    const value = this.text(name) ?? choices[0];
    const found = choices.find((choice) => choice === value);
    if (found === undefined)
      throw badConfig(safeMessage`${trusted(name)} must be one of ${trusted(choices.join(', '))}, not ${JSON.stringify(value)}.`);
    return found;
  }

  #value(name: string): unknown {
    const value = this.values[name];
    // Node-RED replaces a variable that is set.
    const variable = parseVariableReference(value);
    if (variable !== undefined) throw createUnsetVariableError(name, variable);
    return value === '' || value === null ? undefined : value;
  }
}
