/*
 * Rules of the nodes that both halves apply, the runtime and the dialogs: one place for each. Nothing here may need Node.js.
 */

/** Message properties that are no place for the data: what the node itself writes, what Node-RED tells messages apart by, what an HTTP request hangs on. */
export const RESERVED_PROPERTIES: ReadonlySet<unknown> = new Set(['envelope', 'error', '_msgid', 'req', 'res', 'parts']);

/** The longest that a timer can be, and so what waits to be approved: 24 days. */
export const MAX_APPROVAL_MINUTES = Math.floor((2 ** 31 - 1) / 60_000);

export type OutputPort = 'result' | 'failure' | 'event' | 'approve';

/** The outputs of a node: the result, failures where they have one of their own, what happens by itself, and what is to be approved as the last. */
export function listOutputPorts(hasFailureOutput: boolean, hasApproval: boolean, hasEvents = false): OutputPort[] {
  return [
    'result',
    ...(hasFailureOutput ? (['failure'] as const) : []),
    ...(hasEvents ? (['event'] as const) : []),
    ...(hasApproval ? (['approve'] as const) : []),
  ];
}

/** A whole value that Node-RED replaces by that of an environment variable, if there is one of that name. */
const ENV_REFERENCE = /^\$(?:\{(\S+)\}|\((\S+)\))$/;

/** The name of the environment variable that a value is to come from. */
export function parseEnvReference(value: unknown): string | undefined {
  if (typeof value !== 'string' || !value.startsWith('$')) return undefined;
  const found = ENV_REFERENCE.exec(value);
  return found?.[1] ?? found?.[2];
}

const WHOLE_PAYLOAD_KINDS = ['object', 'content'];

/**
 * Whether an object subject may be the whole payload: only where every other required field is given a source, so that nothing else has
 * to be found in it (contract, "Where a field's value comes from").
 */
export function canBeWholePayload(
  subject: string,
  fields: Readonly<Record<string, { readonly kind: string; readonly required?: boolean }>>,
  isNamed: (name: string) => boolean,
): boolean {
  if (!WHOLE_PAYLOAD_KINDS.includes(fields[subject]?.kind ?? '')) return false;
  return Object.entries(fields).every(([name, { required }]) => name === subject || required !== true || isNamed(name));
}
