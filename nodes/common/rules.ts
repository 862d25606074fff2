/* Rules that both the runtime and the dialogs apply. They must not need Node.js. */

/** Message properties that cannot hold the output, because this node, Node-RED or an HTTP response needs them. */
export const RESERVED_MESSAGE_PROPERTIES: ReadonlySet<unknown> = new Set(['envelope', 'error', '_msgid', 'req', 'res', 'parts']);

/** The longest time of a timer and therefore of an approval: 24 days. */
export const MAX_APPROVAL_MINUTES = Math.floor((2 ** 31 - 1) / 60_000);

export type OutputPortName = 'result' | 'failure' | 'event' | 'approve';

/** Returns the outputs of a node in their order: result, failure, event, approval. */
export function listOutputPorts(hasFailureOutput: boolean, hasApproval: boolean, hasEventOutput = false): OutputPortName[] {
  return [
    'result',
    ...(hasFailureOutput ? (['failure'] as const) : []),
    ...(hasEventOutput ? (['event'] as const) : []),
    ...(hasApproval ? (['approve'] as const) : []),
  ];
}

/** Matches a value that consists of one environment variable. Node-RED replaces it if the variable is set. */
const ENV_REFERENCE = /^\$(?:\{(\S+)\}|\((\S+)\))$/;

/** Returns the name of the environment variable that a value refers to. */
export function parseVariableReference(value: unknown): string | undefined {
  if (typeof value !== 'string' || !value.startsWith('$')) return undefined;
  const found = ENV_REFERENCE.exec(value);
  return found?.[1] ?? found?.[2];
}

const WHOLE_PAYLOAD_KINDS = ['object', 'content'];

/**
 * Whether the payload itself can be the subject: every other required field must have its own source (contract, "Where a field's value
 * comes from").
 */
export function canFieldTakeWholePayload(
  subject: string,
  fields: Readonly<Record<string, { readonly kind: string; readonly required?: boolean }>>,
  isNamed: (name: string) => boolean,
): boolean {
  if (!WHOLE_PAYLOAD_KINDS.includes(fields[subject]?.kind ?? '')) return false;
  return Object.entries(fields).every(([name, { required }]) => name === subject || required !== true || isNamed(name));
}
