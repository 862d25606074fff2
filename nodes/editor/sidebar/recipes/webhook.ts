import type { RecipeField, RecipeNode, Translate } from './recipe';

/** The variable of the group that holds the secret. */
export const WEBHOOK_SECRET_NAME = 'WEBHOOK_TOKEN';
const SECRET_HEADER = 'X-Webhook-Token';

/** The fields that every webhook has. */
export const createWebhookFields = (path: string): readonly RecipeField[] => [
  { name: 'path', kind: 'text', default: path },
  { name: 'secret', kind: 'secret', default: '' },
];

const toJson = (value: unknown): string => JSON.stringify(value);

interface Webhook {
  readonly path: string;
  readonly text: Translate;
  /** Name of the node that runs after the secret was accepted. */
  readonly next: string;
  /** JSONata expression for the HTTP status of a success. */
  readonly status: string;
  readonly y: number;
}

/**
 * The nodes around an operation that a webhook starts: they check the secret and answer every call. The operation sends results to
 * `done` and failures to `failed`.
 */
export function createWebhookNodes({ path, text, next, status, y }: Webhook): RecipeNode[] {
  const header = SECRET_HEADER.toLowerCase();
  const isRight = `$length($env("${WEBHOOK_SECRET_NAME}")) > 0 and req.headers."${header}" = $env("${WEBHOOK_SECRET_NAME}")`;
  const refusal = { message: text('recipe.say-wrong-secret', { header: SECRET_HEADER }) };
  const failure = '$lookup({ "BAD_INPUT": 400, "LIMIT": 409, "LOGIN_PAUSED": 503, "TIMEOUT": 504 }, error.code)';
  return [
    {
      ...{ id: 'in', type: 'http in', name: `POST ${path}`, url: path, method: 'post', upload: false, skipBodyParsing: false },
      ...{ swaggerDoc: '', x: 120, y, wires: [['check']] },
    },
    {
      ...{ id: 'check', type: 'switch', name: text('recipe.node-secret'), property: 'payload', propertyType: 'msg' },
      rules: [{ t: 'jsonata_exp', v: isRight, vt: 'jsonata' }, { t: 'else' }],
      ...{ checkall: 'false', repair: false, outputs: 2, x: 320, y, wires: [[next], ['refused']] },
    },
    createAnswer('done', text('recipe.node-done'), status, '{ "message": envelope.summary }', 870, y),
    createAnswer('failed', text('recipe.node-failed'), failure, '{ "message": error.message, "code": error.code }', 870, y + 60, '502'),
    createAnswer('refused', text('recipe.node-refused'), '401', toJson(refusal), 540, y + 120),
    { id: 'answer', type: 'http response', name: text('recipe.node-answer'), statusCode: '', headers: {}, x: 1150, y: y + 60, wires: [] },
  ];
}

function createAnswer(id: string, name: string, status: string, payload: string, x: number, y: number, otherwise?: string): RecipeNode {
  const code = otherwise === undefined ? status : `($status := ${status}; $status ? $status : ${otherwise})`;
  const rules = [
    { t: 'set', p: 'statusCode', pt: 'msg', to: code, tot: 'jsonata' },
    { t: 'set', p: 'payload', pt: 'msg', to: payload, tot: 'jsonata' },
  ];
  return { id, type: 'change', name, rules, action: '', property: '', from: '', to: '', reg: false, x, y, wires: [['answer']] };
}
