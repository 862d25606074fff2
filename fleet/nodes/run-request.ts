import {
  GatewayError,
  isSecretName,
  parseInput,
  findSecrets,
  badInput,
  planRollout,
  safeMessage,
  trusted,
  operations,
  type Operation,
} from '@gateway-admin/node-red';
import type { Message, NodeProperties } from '@gateway-admin/node-red/nodes';
import type { NewFleetRun } from '../engine';
import { toStorableJson, toStorableText } from '../store/storable-text';

type JsonRecord = Readonly<Record<string, unknown>>;

const MAX_RUN_ID_LENGTH = 200;
/** Maximum size of the input of a run. Larger input belongs in a file that every Node-RED can read. */
const MAX_INPUT_LENGTH = 1_000_000;
/** Stands in for a secret while an input is validated. */
const PLACEHOLDER_SECRET = 'a-stand-in-for-a-secret-0';

/** The rollout options of a dialog. Percentages are resolved for each run. */
export interface RolloutConfig {
  readonly canary: number | undefined;
  readonly batch: string | undefined;
  readonly maxFailures: string | undefined;
}

export function readRolloutConfig(properties: NodeProperties): RolloutConfig {
  return { canary: properties.number('canary'), batch: properties.text('batch'), maxFailures: properties.text('maxFailures') };
}

/** Errors: `BAD_CONFIG`. */
export function planRolloutParts(rollout: RolloutConfig, total: number): Pick<NewFleetRun, 'canary' | 'ends' | 'maxFailures'> {
  const { canary, ends, maxFailures } = planRollout(rollout, total);
  return { canary, ends, maxFailures };
}

/** Returns the run id of a message, or a new id. Errors: `BAD_INPUT`. */
export function readRunId(value: unknown, createId: () => string): string {
  if (value === undefined || value === null || value === '') return createId();
  const id = typeof value === 'number' ? String(value) : value;
  if (typeof id === 'string' && id.length <= MAX_RUN_ID_LENGTH && toStorableText(id) === id) return id;
  throw badInput(
    safeMessage`msg.run must be a text of at most ${MAX_RUN_ID_LENGTH} characters, such as backup-2026-11-20. Nothing was started.`,
  );
}

/**
 * Validates an input and converts it to JSON. Errors: `BAD_INPUT` if the operation rejects it, or if it contains a secret or a value that is
 * not JSON.
 */
export function toStorableInput(name: string, input: JsonRecord, credentials: string | undefined): JsonRecord {
  const operation = operations.get(name);
  if (!operation) throw badInput(safeMessage`The operation ${name} does not exist.`);
  const secrets = getSecretFields(operation);
  for (const field of secrets) if (input[field] !== undefined) throw createSecretError(field);
  const neededSecrets = credentials === undefined ? [] : secrets;
  parseInput(operation, { ...input, ...Object.fromEntries(neededSecrets.map((field) => [field, PLACEHOLDER_SECRET])) });
  return toPlainInput(input);
}

/** The same for a *fleet task*, which accepts any JSON. */
export function toPlainInput(input: JsonRecord): JsonRecord {
  for (const [field, value] of Object.entries(input)) {
    if (Buffer.isBuffer(value))
      throw badInput(
        safeMessage`${field} is a Buffer, which a run cannot store. Use a file that every Node-RED can read. Nothing was started.`,
      );
    if (isSecretName(field) && (typeof value === 'string' || typeof value === 'number')) throw createSecretError(field);
  }
  if (!findSecrets(input).next().done) throw createSecretError('the input');
  let text: string;
  try {
    text = JSON.stringify(input);
  } catch {
    throw badInput('The input cannot be converted to JSON: it is circular, or it has a BigInt. Nothing was started.');
  }
  if (toStorableJson(text) !== text)
    throw badInput(
      'The input contains U+0000 or half of a character, which PostgreSQL cannot store. Check its source. Nothing was started.',
    );
  if (text.length > MAX_INPUT_LENGTH)
    throw badInput('The input is larger than 1 MB. Use a file that every Node-RED can read. Nothing was started.');
  return JSON.parse(text) as JsonRecord;
}

function getSecretFields({ fields }: Operation): string[] {
  return Object.entries(fields).flatMap(([name, { secret }]) => (secret === true ? [name] : []));
}

function createSecretError(field: string): Error {
  return badInput(
    safeMessage`${trusted(field)} is secret, and a run stores no secrets. Choose a credential set of the inventory instead (Credential set). Nothing was started.`,
  );
}

/** Copies a configuration error, so that one message does not get the cause of another one. */
export const copyErrorWithoutCause = ({ code, safeMessage: message, details }: GatewayError): GatewayError =>
  new GatewayError(code, message, details);

/** Returns the person who asked for the change, from `msg.actor`. */
export function readActorOfMessage(message: Message): { actor?: string } {
  const { actor } = message as { actor?: unknown };
  return typeof actor === 'string' && actor !== '' ? { actor } : {};
}
