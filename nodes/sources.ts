import type { Node, NodeAPI, NodeMessageInFlow } from 'node-red';
import { badInput, GatewayError } from '../src/model/error';
import { expandTags } from '../src/model/path';
import { badConfig } from './properties';
import { variableOf } from './rules';
import { ours, sentence } from '../src/model/sentence';

export type Message = NodeMessageInFlow;

/**
 * Where one value comes from, prepared when the node starts: a `constant` costs nothing for each message, `now` gives the value
 * at once, `later` by a promise (context stores and JSONata may take their time).
 */
export type Source =
  | { readonly constant: unknown }
  | { readonly now: (message: Message) => unknown }
  | { readonly later: (message: Message) => Promise<unknown> };

/** What the dialog stores of one value. */
export interface Typed {
  readonly type: string;
  readonly value: unknown;
}

/** What a source is read for: its name in errors, and how careful they have to be. */
export interface Purpose {
  readonly name: string;
  /** What the dialog calls it. */
  readonly label?: string | undefined;
  readonly secret: boolean;
  /** Mustache tags become path segments. */
  readonly tags: boolean;
}

/** Every property of the payload: what an expression takes of it cannot be told from its text. */
export const WHOLE = Symbol('the whole payload');

/** The properties of `msg.payload` that a value is made of. */
export function payloadUse(red: NodeAPI, { type, value }: Typed, tags: boolean): Iterable<string | typeof WHOLE> {
  if (typeof value !== 'string') return [];
  if (type === 'jsonata' || (type === 'str' && tags && value.includes('{{'))) return value.includes('payload') ? [WHOLE] : [];
  if (type !== 'msg') return [];
  try {
    const [holder, property] = red.util.normalisePropertyExpression(value.replace(/^msg\./, '')) as unknown[];
    return holder === 'payload' ? [typeof property === 'string' ? property : WHOLE] : [];
  } catch {
    return [WHOLE];
  }
}

/** The source of a typed value. Never throws: what is wrong with it is told for every message that needs it. */
export function sourceOf(red: NodeAPI, node: Node<Record<string, unknown>>, typed: Typed, purpose: Purpose): Source {
  try {
    return prepared(red, node, typed, purpose);
  } catch (thrown) {
    const fault = faultOf(thrown, typed, purpose);
    return { now: () => raise(fault) };
  }
}

function prepared(red: NodeAPI, node: Node<Record<string, unknown>>, typed: Typed, purpose: Purpose): Source {
  const { type, value } = typed;
  const variable = variableOf(value);
  if (variable !== undefined)
    throw badConfig(sentence`${ours(purpose.name)} is to come from the environment variable ${variable}, which is not set.`);
  switch (type) {
    case 'str':
      if (purpose.tags && typeof value === 'string' && value.includes('{{')) return { now: (message) => expandTags(value, message) };
      return { constant: given(typed, purpose, typeof value === 'number' || typeof value === 'boolean' ? String(value) : value) };
    case 'num':
      return { constant: given(typed, purpose, numberFrom(value, purpose)) };
    case 'bool':
      return { constant: given(typed, purpose, value === 'true' ? true : value === 'false' ? false : value) };
    case 'json':
      return {
        constant: given(typed, purpose, typeof value === 'string' && value !== '' ? (JSON.parse(value) as unknown) : value),
      };
    case 'cred':
      if (variableOf(node.credentials[purpose.name]) !== undefined) {
        throw badConfig(
          sentence`${ours(purpose.name)} is to come from an environment variable that is not set. Set it where Node-RED is started.`,
        );
      }
      return { constant: given(typed, purpose, node.credentials[purpose.name]) };
    case 'msg':
    case 'env':
      return { now: (message) => given(typed, purpose, readNow(red, node, typed, message, purpose)) };
    case 'flow':
    case 'global':
    case 'jsonata':
      return { later: readLater(red, node, typed, purpose) };
    default:
      throw badConfig(
        sentence`${ours(purpose.name)} has the type ${JSON.stringify(type)}, which this node does not know. Open the node and choose another.`,
      );
  }
}

function readNow(red: NodeAPI, node: Node, typed: Typed, message: Message, purpose: Purpose): unknown {
  try {
    return red.util.evaluateNodeProperty(String(typed.value), typed.type, node, message) as unknown;
  } catch (thrown) {
    // A property of something that is not there: just as absent.
    if (typed.type === 'msg' && thrown instanceof TypeError) return undefined;
    throw faultOf(thrown, typed, purpose);
  }
}

/** An async function, so that what Node-RED throws at once ends in the promise too. */
function readLater(red: NodeAPI, node: Node, typed: Typed, purpose: Purpose): (message: Message) => Promise<unknown> {
  const text = String(typed.value);
  // Parsing costs more than evaluating; a bad expression is told when the node starts to need it.
  const expression = typed.type === 'jsonata' ? red.util.prepareJSONataExpression(text, node) : undefined;
  return async (message) => {
    try {
      const value = await new Promise<unknown>((resolve, reject) => {
        const settle = (error: Error | null, result: unknown): void => (error ? reject(error) : resolve(result));
        if (expression) red.util.evaluateJSONataExpression(expression, message, settle);
        else red.util.evaluateNodeProperty(text, typed.type, node, message, settle);
      });
      return given(typed, purpose, value);
    } catch (thrown) {
      throw faultOf(thrown, typed, purpose);
    }
  };
}

/** A value that was asked for by name and is not there is an error: a filter that silently vanished would widen what follows. */
function given(typed: Typed, { name, label }: Purpose, value: unknown): unknown {
  if (value !== undefined && value !== null && value !== '') return value;
  throw badInput(sentence`${ours(name)}${ours(label === undefined ? '' : ` (${label})`)} ${ours(nothingIn(typed))}`);
}

const LITERALS: Readonly<Record<string, string>> = {
  str: 'a text',
  num: 'a number',
  bool: 'true or false',
  json: 'JSON',
  cred: 'a secret',
};

function nothingIn({ type, value }: Typed): string {
  const literal = LITERALS[type];
  if (literal !== undefined) return `is ${literal} of the dialog, and nothing is entered there. Enter it, or choose default.`;
  const text = String(value);
  switch (type) {
    case 'env':
      return `comes from the environment variable ${text}, which is empty or not set.`;
    case 'jsonata':
      return `comes from the JSONata expression ${text}, which gives nothing.`;
    default:
      return `comes from ${text.startsWith(`${type}.`) ? '' : `${type}.`}${text}, where there is nothing.`;
  }
}

function numberFrom(value: unknown, { name }: Purpose): unknown {
  if (typeof value !== 'string' || value.trim() === '') return value;
  const number = Number(value);
  if (Number.isFinite(number)) return number;
  throw badInput(sentence`${ours(name)} has to be a number; ${JSON.stringify(value)} came.`);
}

/** Parsers quote what they could not read: of a secret nothing is quoted. */
function faultOf(thrown: unknown, { type }: Typed, { name, secret }: Purpose): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const words = (thrown as { message?: unknown } | null)?.message;
  const why = secret || typeof words !== 'string' ? ours('') : sentence`: ${words}`;
  return badInput(sentence`${ours(name)} cannot be read from ${ours(type)}${why}`);
}

// A fresh error for each message: its cause differs.
function raise({ code, sentence, details }: GatewayError): never {
  throw new GatewayError(code, sentence, details);
}
