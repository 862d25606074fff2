import {
  createDebugNode,
  createScheduleNode,
  toLiteral,
  toCronExpression,
  toOperationProperties,
  type Recipe,
  type RecipeNode,
} from './recipe';
import { createWebhookNodes, createWebhookFields, WEBHOOK_SECRET_NAME } from './webhook';

/** The recipes. Each gets the id of its appliance as the value `appliance`. */
export const RECIPES: readonly Recipe[] = [
  {
    name: 'backup',
    icon: 'fa-archive',
    fields: [
      { name: 'folder', kind: 'text', default: '', placeholder: '/var/backups/gateway' },
      { name: 'time', kind: 'time', default: '02:00' },
      { name: 'keep', kind: 'number', default: '30', range: [1, 10_000] },
    ],
    build: ({ appliance = '', folder = '', time = '', keep = '' }, text) => ({
      nodes: [
        createScheduleNode('start', text('recipe.node-nightly', { time }), `${toCronExpression(time)} * * *`, 150, 60, [['backup']]),
        {
          ...{ id: 'backup', type: 'gateway-backup', x: 400, y: 60, wires: [['done'], ['failed']] },
          ...toOperationProperties('run', appliance, { folder: toLiteral('str', folder.trim()), keep: toLiteral('num', keep) }),
        },
        createDebugNode('done', text('recipe.node-made'), 'envelope.summary', 660, 40),
        createDebugNode('failed', text('recipe.node-reason'), 'error.message', 660, 100),
      ],
    }),
  },
  {
    name: 'webhook',
    icon: 'fa-plug',
    fields: [...createWebhookFields('/end-sessions'), { name: 'max', kind: 'number', default: '25', range: [1, 100_000] }],
    build: ({ appliance = '', path = '', secret = '', max = '' }, text) => ({
      secret: { name: WEBHOOK_SECRET_NAME, value: secret },
      nodes: [
        ...createWebhookNodes({ path, text, next: 'end', status: 'payload.failed > 0 ? 502 : 200', y: 60 }),
        {
          ...{ id: 'end', type: 'gateway-sessions', x: 570, y: 60, wires: [['done'], ['failed']] },
          ...toOperationProperties('kill-user', appliance, { max: toLiteral('num', max) }),
        },
      ],
    }),
  },
  {
    name: 'contain',
    icon: 'fa-user-times',
    fields: [...createWebhookFields('/contain'), { name: 'minutes', kind: 'number', default: '60', range: [1, 525_600] }],
    build: ({ appliance = '', path = '', secret = '', minutes = '' }, text) => ({
      secret: { name: WEBHOOK_SECRET_NAME, value: secret },
      nodes: [
        ...createWebhookNodes({ path, text, next: 'contain', status: '200', y: 60 }),
        {
          ...{ id: 'contain', type: 'gateway-contain', x: 560, y: 60, wires: [['done'], ['failed'], ['again']] },
          ...toOperationProperties('contain', appliance, { minutes: toLiteral('num', minutes) }),
          ...{ approval: false, approvalMinutes: 60, every: 10, outputs: 3 },
        },
        createDebugNode('again', text('recipe.node-again'), 'payload', 860, 180),
      ],
    }),
  },
  {
    name: 'approval',
    icon: 'fa-check-square-o',
    fields: [
      { name: 'change', kind: 'choice', default: 'end', choices: ['end', 'disable'] },
      { name: 'user', kind: 'text', default: '', placeholder: 'j.doe' },
      { name: 'server', kind: 'text', default: 'System Local', onlyFor: ['change', 'disable'] },
    ],
    build: ({ appliance = '', change, user = '', server = '' }, text) => {
      const name = toLiteral('str', user.trim());
      const operation =
        change === 'disable'
          ? toOperationProperties('disable', appliance, { server: toLiteral('str', server.trim()), username: name })
          : toOperationProperties('kill-user', appliance, { name });
      return {
        nodes: [
          createScheduleNode('start', text('recipe.node-ask'), '', 150, 80, [['change']]),
          {
            ...{ id: 'change', type: change === 'disable' ? 'gateway-users' : 'gateway-sessions', x: 390, y: 80 },
            ...{ ...operation, approval: true, approvalMinutes: 60, outputs: 3, wires: [['done'], ['failed'], ['waiting']] },
          },
          createDebugNode('done', text('recipe.node-changed'), 'envelope.summary', 680, 40),
          createDebugNode('failed', text('recipe.node-reason'), 'error.message', 680, 80),
          createDebugNode('waiting', text('recipe.node-waiting'), 'payload.summary', 680, 120),
        ],
      };
    },
  },
  {
    name: 'license',
    icon: 'fa-pie-chart',
    fields: [
      { name: 'day', kind: 'choice', default: '1', choices: ['*', '1', '2', '3', '4', '5', '6', '0'] },
      { name: 'time', kind: 'time', default: '07:00', text: 'time' },
      { name: 'percent', kind: 'number', default: '90', range: [1, 100] },
    ],
    build: ({ appliance = '', day = '', time = '', percent = '' }, text) => ({
      nodes: [
        createScheduleNode(
          'start',
          `${text(`recipe.day.${toWeekdayTextKey(day)}`)}, ${time}`,
          `${toCronExpression(time)} * * ${day}`,
          150,
          80,
          [['read']],
        ),
        {
          ...{ id: 'read', type: 'gateway-license', x: 370, y: 80, wires: [['features'], ['failed']] },
          ...toOperationProperties('lease-info', appliance),
        },
        createChange('features', text('recipe.node-features'), FEATURES, 660, 60, ['report', 'limit']),
        createChange('report', text('recipe.node-report'), `$join(payload.(${LINE}), "\\n")`, 870, 40, ['reported']),
        createDebugNode('reported', text('recipe.node-reported'), 'payload', 1090, 40),
        createChange('limit', text('recipe.node-limit', { percent }), `$join(payload[percent >= ${percent}].(${LINE}), "\\n")`, 820, 100, [
          'any',
        ]),
        {
          ...{
            id: 'any',
            type: 'switch',
            name: text('recipe.node-any'),
            property: 'payload',
            propertyType: 'msg',
            rules: [{ t: 'nempty' }],
          },
          ...{ checkall: 'false', repair: false, outputs: 1, x: 1060, y: 100, wires: [['warning']] },
        },
        createDebugNode('warning', text('recipe.node-warning'), 'payload', 1250, 100),
        createDebugNode('failed', text('recipe.node-reason'), 'error.message', 670, 140),
      ],
    }),
  },
];

/** The catalog has no key `*`. */
export const toWeekdayTextKey = (day: string): string => (day === '*' ? 'all' : day);

/** JSONata expression for one line of the report. */
const LINE = 'name & ": " & leased & " / " & total & " (" & percent & " %)"';
/** JSONata expression for the leased licenses by feature. */
const FEATURES = `[payload.\`leased-license-counts\`.features.feature.(
  $leased := $sum([clients.\`client-info\`.\`leased-count\`]);
  { "name": name, "leased": $leased, "total": \`total-count\`, "percent": \`total-count\` > 0 ? $round(100 * $leased / \`total-count\`) : 0 }
)]`;

function createChange(id: string, name: string, expression: string, x: number, y: number, next: string[]): RecipeNode {
  const rules = [{ t: 'set', p: 'payload', pt: 'msg', to: expression, tot: 'jsonata' }];
  return { id, type: 'change', name, rules, action: '', property: '', from: '', to: '', reg: false, x, y, wires: [next] };
}
