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
import type { NewRun } from '../engine';
import { toStorableJson, toStorableText } from '../store/storable-text';

type JsonRecord = Readonly<Record<string, unknown>>;

const MAX_RUN_ID_LENGTH = 200;
/** More belongs into a file that all of them can read. */
const MAX_INPUT_LENGTH = 1_000_000;
/** Stands for a secret while an input is checked. */
const PLACEHOLDER_SECRET = 'a-stand-in-for-a-secret-0';

/** How a run goes over its appliances, as a dialog has it; shares are worked out for each run. */
export interface RolloutConfig {
  readonly canary: number | undefined;
  readonly batch: string | undefined;
  readonly maxFailures: string | undefined;
}

export function readRolloutConfig(properties: NodeProperties): RolloutConfig {
  return { canary: properties.number('canary'), batch: properties.text('batch'), maxFailures: properties.text('maxFailures') };
}

/** Errors: `BAD_CONFIG`. */
export function planRolloutParts(rollout: RolloutConfig, total: number): Pick<NewRun, 'canary' | 'ends' | 'maxFailures'> {
  const { canary, ends, maxFailures } = planRollout(rollout, total);
  return { canary, ends, maxFailures };
}

/** Identity of a run: what the message says, else one that is new. Errors: `BAD_INPUT`. */
export function readRunId(value: unknown, createId: () => string): string {
  if (value === undefined || value === null || value === '') return createId();
  const id = typeof value === 'number' ? String(value) : value;
  if (typeof id === 'string' && id.length <= MAX_RUN_ID_LENGTH && toStorableText(id) === id) return id;
  throw badInput(
    safeMessage`msg.run has to be a text of at most ${MAX_RUN_ID_LENGTH} characters: the name of this run, such as backup-2026-11-20.`,
  );
}

/**
 * What is kept of an input: all of it, as JSON, and nothing secret. Errors: `BAD_INPUT` for what the operation cannot take, for a secret, and
 * for what is no JSON.
 */
export function toStorableInput(name: string, input: JsonRecord, credentials: string | undefined): JsonRecord {
  const operation = operations.get(name);
  if (!operation) throw badInput(safeMessage`There is no operation ${name}.`);
  const secrets = getSecretFields(operation);
  for (const field of secrets) if (input[field] !== undefined) throw createSecretError(field);
  const neededSecrets = credentials === undefined ? [] : secrets;
  parseInput(operation, { ...input, ...Object.fromEntries(neededSecrets.map((field) => [field, PLACEHOLDER_SECRET])) });
  return toPlainInput(input);
}

/** The same for a flow that somebody has drawn: any JSON. */
export function toPlainInput(input: JsonRecord): JsonRecord {
  for (const [field, value] of Object.entries(input)) {
    if (Buffer.isBuffer(value))
      throw badInput(safeMessage`${field} is a Buffer, which a run does not keep: name a file that every Node-RED can read.`);
    if (isSecretName(field) && (typeof value === 'string' || typeof value === 'number')) throw createSecretError(field);
  }
  if (!findSecrets(input).next().done) throw createSecretError('the input');
  let text: string;
  try {
    text = JSON.stringify(input);
  } catch {
    throw badInput('The input is no JSON: it holds itself, or a number too large for it.');
  }
  if (toStorableJson(text) !== text)
    throw badInput('The input holds U+0000, or half of a character, which a database does not keep: check where that comes from.');
  if (text.length > MAX_INPUT_LENGTH) throw badInput('The input is larger than a megabyte: name a file that every Node-RED can read.');
  return JSON.parse(text) as JsonRecord;
}

export function getSecretFields({ fields }: Operation): string[] {
  return Object.entries(fields).flatMap(([name, { secret }]) => (secret === true ? [name] : []));
}

function createSecretError(field: string): Error {
  return badInput(
    safeMessage`${trusted(field)} is secret, and a run keeps no secrets: give the name of a credential set of the inventory in its place (Secrets from).`,
  );
}

/** An error that is kept for every message must not carry the cause of another one. */
export const copyError = ({ code, safeMessage: message, details }: GatewayError): GatewayError => new GatewayError(code, message, details);

/** Who asks for it, as the message says. */
export function readActor(message: Message): { actor?: string } {
  const { actor } = message as { actor?: unknown };
  return typeof actor === 'string' && actor !== '' ? { actor } : {};
}
