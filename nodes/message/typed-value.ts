import type { Node, NodeAPI, NodeMessageInFlow } from 'node-red';
import { badInput, GatewayError } from '../../src/model/error';
import { expandPathTags } from '../../src/model/path';
import { badConfig } from '../common/node-properties';
import { parseEnvReference } from '../common/rules';
import { trusted, safeMessage } from '../../src/model/safe-message';

export type Message = NodeMessageInFlow;

/**
 * Where one value comes from, prepared when the node starts: a `constant` costs nothing for each message, `now` gives the value
 * at once, `later` by a promise (context stores and JSONata may take their time).
 */
export type ValueResolver =
  | { readonly constant: unknown }
  | { readonly sync: (message: Message) => unknown }
  | { readonly async: (message: Message) => Promise<unknown> };

/** What the dialog stores of one value. */
export interface TypedValue {
  readonly type: string;
  readonly value: unknown;
}

/** What a source is read for: its name in errors, and how careful they have to be. */
export interface ValueContext {
  readonly name: string;
  /** What the dialog calls it. */
  readonly label?: string | undefined;
  readonly isSecret: boolean;
  /** Mustache tags become path segments. */
  readonly hasPathTags: boolean;
}

/** Every property of the payload: what an expression takes of it cannot be told from its text. */
export const WHOLE_PAYLOAD = Symbol('the whole payload');

/** The properties of `msg.payload` that a value is made of. */
export function findPayloadProperties(
  red: NodeAPI,
  { type, value }: TypedValue,
  hasPathTags: boolean,
): Iterable<string | typeof WHOLE_PAYLOAD> {
  if (typeof value !== 'string') return [];
  if (type === 'jsonata' || (type === 'str' && hasPathTags && value.includes('{{')))
    return value.includes('payload') ? [WHOLE_PAYLOAD] : [];
  if (type !== 'msg') return [];
  try {
    const [holder, property] = red.util.normalisePropertyExpression(value.replace(/^msg\./, '')) as unknown[];
    return holder === 'payload' ? [typeof property === 'string' ? property : WHOLE_PAYLOAD] : [];
  } catch {
    return [WHOLE_PAYLOAD];
  }
}

/** The source of a typed value. Never throws: what is wrong with it is told for every message that needs it. */
export function createValueResolver(
  red: NodeAPI,
  node: Node<Record<string, unknown>>,
  typedValue: TypedValue,
  context: ValueContext,
): ValueResolver {
  try {
    return prepareResolver(red, node, typedValue, context);
  } catch (thrown) {
    const error = toValueError(thrown, typedValue, context);
    return { sync: () => throwCopy(error) };
  }
}

function prepareResolver(red: NodeAPI, node: Node<Record<string, unknown>>, typedValue: TypedValue, context: ValueContext): ValueResolver {
  const { type, value } = typedValue;
  const variable = parseEnvReference(value);
  if (variable !== undefined)
    throw badConfig(safeMessage`${trusted(context.name)} is to come from the environment variable ${variable}, which is not set.`);
  switch (type) {
    case 'str':
      if (context.hasPathTags && typeof value === 'string' && value.includes('{{'))
        return { sync: (message) => expandPathTags(value, message) };
      return {
        constant: requireValue(typedValue, context, typeof value === 'number' || typeof value === 'boolean' ? String(value) : value),
      };
    case 'num':
      return { constant: requireValue(typedValue, context, parseNumber(value, context)) };
    case 'bool':
      return { constant: requireValue(typedValue, context, value === 'true' ? true : value === 'false' ? false : value) };
    case 'json':
      return {
        constant: requireValue(typedValue, context, typeof value === 'string' && value !== '' ? (JSON.parse(value) as unknown) : value),
      };
    case 'cred':
      if (parseEnvReference(node.credentials[context.name]) !== undefined) {
        throw badConfig(
          safeMessage`${trusted(context.name)} is to come from an environment variable that is not set. Set it where Node-RED is started.`,
        );
      }
      return { constant: requireValue(typedValue, context, node.credentials[context.name]) };
    case 'msg':
    case 'env':
      return { sync: (message) => requireValue(typedValue, context, evaluateSync(red, node, typedValue, message, context)) };
    case 'flow':
    case 'global':
    case 'jsonata':
      return { async: createAsyncEvaluator(red, node, typedValue, context) };
    default:
      throw badConfig(
        safeMessage`${trusted(context.name)} has the type ${JSON.stringify(type)}, which this node does not know. Open the node and choose another.`,
      );
  }
}

function evaluateSync(red: NodeAPI, node: Node, typedValue: TypedValue, message: Message, context: ValueContext): unknown {
  try {
    return red.util.evaluateNodeProperty(String(typedValue.value), typedValue.type, node, message) as unknown;
  } catch (thrown) {
    // A property of something that is not there: just as absent.
    if (typedValue.type === 'msg' && thrown instanceof TypeError) return undefined;
    throw toValueError(thrown, typedValue, context);
  }
}

/** An async function, so that what Node-RED throws at once ends in the promise too. */
function createAsyncEvaluator(
  red: NodeAPI,
  node: Node,
  typedValue: TypedValue,
  context: ValueContext,
): (message: Message) => Promise<unknown> {
  const text = String(typedValue.value);
  // Parsing costs more than evaluating; a bad expression is told when the node starts to need it.
  const expression = typedValue.type === 'jsonata' ? red.util.prepareJSONataExpression(text, node) : undefined;
  return async (message) => {
    try {
      const value = await new Promise<unknown>((resolve, reject) => {
        const settle = (error: Error | null, result: unknown): void => (error ? reject(error) : resolve(result));
        if (expression) red.util.evaluateJSONataExpression(expression, message, settle);
        else red.util.evaluateNodeProperty(text, typedValue.type, node, message, settle);
      });
      return requireValue(typedValue, context, value);
    } catch (thrown) {
      throw toValueError(thrown, typedValue, context);
    }
  };
}

/** A value that was asked for by name and is not there is an error: a filter that silently vanished would widen what follows. */
function requireValue(typedValue: TypedValue, { name, label }: ValueContext, value: unknown): unknown {
  if (value !== undefined && value !== null && value !== '') return value;
  throw badInput(safeMessage`${trusted(name)}${trusted(label === undefined ? '' : ` (${label})`)} ${trusted(describeMissing(typedValue))}`);
}

const LITERAL_NAMES: Readonly<Record<string, string>> = {
  str: 'a text',
  num: 'a number',
  bool: 'true or false',
  json: 'JSON',
  cred: 'a secret',
};

function describeMissing({ type, value }: TypedValue): string {
  const literal = LITERAL_NAMES[type];
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

function parseNumber(value: unknown, { name }: ValueContext): unknown {
  if (typeof value !== 'string' || value.trim() === '') return value;
  const number = Number(value);
  if (Number.isFinite(number)) return number;
  throw badInput(safeMessage`${trusted(name)} has to be a number; ${JSON.stringify(value)} came.`);
}

/** Parsers quote what they could not read: of a secret nothing is quoted. */
function toValueError(thrown: unknown, { type }: TypedValue, { name, isSecret }: ValueContext): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const reason = (thrown as { message?: unknown } | null)?.message;
  const suffix = isSecret || typeof reason !== 'string' ? trusted('') : safeMessage`: ${reason}`;
  return badInput(safeMessage`${trusted(name)} cannot be read from ${trusted(type)}${suffix}`);
}

// A fresh error for each message: its cause differs.
function throwCopy({ code, safeMessage, details }: GatewayError): never {
  throw new GatewayError(code, safeMessage, details);
}
