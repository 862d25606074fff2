import {
  GatewayError,
  isSecretName,
  readInput,
  secretsIn,
  badInput,
  paceOf,
  sentence,
  ours,
  operations,
  type Operation,
} from '@gateway-admin/node-red';
import type { Message, Properties } from '@gateway-admin/node-red/nodes';
import type { NewOrder } from '../engine';
import { keptJson, keptText } from '../ledger/text';

type Json = Readonly<Record<string, unknown>>;

const LONGEST_ID = 200;
/** More belongs into a file that all of them can read. */
const LARGEST_INPUT = 1_000_000;
/** Stands for a secret while an input is checked. */
const STAND_IN = 'a-stand-in-for-a-secret-0';

/** How a run goes over its appliances, as a dialog has it; shares are worked out for each run. */
export interface PaceSetup {
  readonly canary: number | undefined;
  readonly batch: string | undefined;
  readonly maxFailures: string | undefined;
}

export function paceIn(properties: Properties): PaceSetup {
  return { canary: properties.number('canary'), batch: properties.text('batch'), maxFailures: properties.text('maxFailures') };
}

/** Errors: `BAD_CONFIG`. */
export function partsOf(pace: PaceSetup, total: number): Pick<NewOrder, 'canary' | 'ends' | 'maxFailures'> {
  const { canary, ends, maxFailures } = paceOf(pace, total);
  return { canary, ends, maxFailures };
}

/** Identity of a run: what the message says, else one that is new. Errors: `BAD_INPUT`. */
export function identityOf(given: unknown, fresh: () => string): string {
  if (given === undefined || given === null || given === '') return fresh();
  const id = typeof given === 'number' ? String(given) : given;
  if (typeof id === 'string' && id.length <= LONGEST_ID && keptText(id) === id) return id;
  throw badInput(sentence`msg.run has to be a text of at most ${LONGEST_ID} characters: the name of this run, such as backup-2026-11-20.`);
}

/**
 * What is kept of an input: all of it, as JSON, and nothing secret. Errors: `BAD_INPUT` for what the operation cannot take, for a secret, and
 * for what is no JSON.
 */
export function keptInput(name: string, given: Json, credentials: string | undefined): Json {
  const operation = operations.get(name);
  if (!operation) throw badInput(sentence`There is no operation ${name}.`);
  const secrets = secretFields(operation);
  for (const field of secrets) if (given[field] !== undefined) throw secretGiven(field);
  const needed = credentials === undefined ? [] : secrets;
  readInput(operation, { ...given, ...Object.fromEntries(needed.map((field) => [field, STAND_IN])) });
  return plain(given);
}

/** The same for a flow that somebody has drawn: any JSON. */
export function plain(given: Json): Json {
  for (const [field, value] of Object.entries(given)) {
    if (Buffer.isBuffer(value))
      throw badInput(sentence`${field} is a Buffer, which a run does not keep: name a file that every Node-RED can read.`);
    if (isSecretName(field) && (typeof value === 'string' || typeof value === 'number')) throw secretGiven(field);
  }
  if (!secretsIn(given).next().done) throw secretGiven('the input');
  let text: string;
  try {
    text = JSON.stringify(given);
  } catch {
    throw badInput('The input is no JSON: it holds itself, or a number too large for it.');
  }
  if (keptJson(text) !== text)
    throw badInput('The input holds U+0000, or half of a character, which a database does not keep: check where that comes from.');
  if (text.length > LARGEST_INPUT) throw badInput('The input is larger than a megabyte: name a file that every Node-RED can read.');
  return JSON.parse(text) as Json;
}

export function secretFields({ fields }: Operation): string[] {
  return Object.entries(fields).flatMap(([name, { secret }]) => (secret === true ? [name] : []));
}

function secretGiven(field: string): Error {
  return badInput(
    sentence`${ours(field)} is secret, and a run keeps no secrets: give the name of a credential set of the inventory in its place (Secrets from).`,
  );
}

/** An error that is kept for every message must not carry the cause of another one. */
export const again = ({ code, sentence: words, details }: GatewayError): GatewayError => new GatewayError(code, words, details);

/** Who asks for it, as the message says. */
export function actorOf(message: Message): { actor?: string } {
  const { actor } = message as { actor?: unknown };
  return typeof actor === 'string' && actor !== '' ? { actor } : {};
}
