import type { Node, NodeAPI, NodeMessageInFlow } from 'node-red';
import { badInput, GatewayError } from '../../src/model/error';
import { expandPathTags } from '../../src/model/path-tags';
import { badConfig, createUnsetVariableError } from '../common/node-properties';
import { parseVariableReference } from '../common/rules';
import { trusted, safeMessage } from '../../src/model/safe-message';

export type Message = NodeMessageInFlow;

/**
 * Where a value comes from, prepared when the node starts. A constant costs nothing per message. Context stores and JSONata are
 * asynchronous.
 */
export type ValueResolver =
  | { readonly constant: unknown }
  | { readonly sync: (message: Message) => unknown }
  | { readonly async: (message: Message) => Promise<unknown> };

/** A value as the dialog stores it. */
export interface TypedValue {
  readonly type: string;
  readonly value: unknown;
}

/** The field that a value is for. */
interface ValueContext {
  readonly name: string;
  /** The label in the dialog. */
  readonly label?: string | undefined;
  readonly isSecret: boolean;
  /** Whether the text is a path, in which Mustache tags become segments. */
  readonly hasPathTags: boolean;
}

/** Stands for every payload property, because nothing shows which properties an expression uses. */
export const WHOLE_PAYLOAD = Symbol('the whole payload');

/** Returns the properties of `msg.payload` that a value uses. */
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

/** Prepares a value. Never throws: an error is reported for every message that needs the value. */
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
  const variable = parseVariableReference(value);
  if (variable !== undefined) throw createUnsetVariableError(context.name, variable);
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
    case 'cred': {
      const secretVariable = parseVariableReference(node.credentials[context.name]);
      if (secretVariable !== undefined) throw createUnsetVariableError(context.name, secretVariable, true);
      return { constant: requireValue(typedValue, context, node.credentials[context.name]) };
    }
    case 'msg':
    case 'env':
      return { sync: (message) => requireValue(typedValue, context, evaluateSync(red, node, typedValue, message, context)) };
    case 'flow':
    case 'global':
    case 'jsonata':
      return { async: createAsyncEvaluator(red, node, typedValue, context) };
    default:
      throw badConfig(
        safeMessage`${trusted(context.name)} has the unknown type ${JSON.stringify(type)}. Open the node and choose another one.`,
      );
  }
}

function evaluateSync(red: NodeAPI, node: Node, typedValue: TypedValue, message: Message, context: ValueContext): unknown {
  try {
    return red.util.evaluateNodeProperty(String(typedValue.value), typedValue.type, node, message) as unknown;
  } catch (thrown) {
    // The parent of the property does not exist, so the property does not either.
    if (typedValue.type === 'msg' && thrown instanceof TypeError) return undefined;
    throw toValueError(thrown, typedValue, context);
  }
}

/** Evaluates an expression. It is async, so that synchronous errors of Node-RED also reject the promise. */
function createAsyncEvaluator(
  red: NodeAPI,
  node: Node,
  typedValue: TypedValue,
  context: ValueContext,
): (message: Message) => Promise<unknown> {
  const text = String(typedValue.value);
  // Parsing costs more than evaluating.
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

/** Returns the value. A missing value is an error, because a filter that silently disappears would match more. */
function requireValue(typedValue: TypedValue, { name, label }: ValueContext, value: unknown): unknown {
  if (value !== undefined && value !== null && value !== '') return value;
  throw badInput(safeMessage`${trusted(name)}${trusted(label === undefined ? '' : ` (${label})`)} ${trusted(describeMissing(typedValue))}`);
}

const LITERAL_NAMES: Readonly<Record<string, string>> = {
  str: 'text',
  num: 'a number',
  bool: 'true or false',
  json: 'JSON',
  cred: 'a secret',
};

function describeMissing({ type, value }: TypedValue): string {
  const literal = LITERAL_NAMES[type];
  if (literal !== undefined) return `is ${literal} in the dialog, but is empty there. Enter a value or choose default.`;
  const text = String(value);
  switch (type) {
    case 'env':
      return `comes from the environment variable ${text}, which is empty or not set.`;
    case 'jsonata':
      return `comes from the JSONata expression ${text}, which returns nothing.`;
    default:
      return `comes from ${text.startsWith(`${type}.`) ? '' : `${type}.`}${text}, which is empty or missing.`;
  }
}

function parseNumber(value: unknown, { name }: ValueContext): unknown {
  if (typeof value !== 'string' || value.trim() === '') return value;
  const number = Number(value);
  if (Number.isFinite(number)) return number;
  throw badInput(safeMessage`${trusted(name)} must be a number, not ${JSON.stringify(value)}.`);
}

/** Describes an error. Parser errors quote their input, so the error of a secret has no details. */
function toValueError(thrown: unknown, { type }: TypedValue, { name, isSecret }: ValueContext): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const reason = (thrown as { message?: unknown } | null)?.message;
  const suffix = isSecret || typeof reason !== 'string' ? trusted('') : safeMessage`: ${reason}`;
  return badInput(safeMessage`${trusted(name)} cannot be read from ${trusted(type)}${suffix}`);
}

// Each message needs its own error, because the cause differs.
function throwCopy({ code, safeMessage, details }: GatewayError): never {
  throw new GatewayError(code, safeMessage, details);
}
