// @ts-check
// The dialogs of the five nodes: form, defaults and checks are generated from this table. The texts are in the locale catalog.

/**
 * @typedef {object} Property
 * @property {string} name
 * @property {'text' | 'number' | 'share' | 'check' | 'choice' | 'config' | 'credential' | 'selection' | 'operation' | 'fields' | 'hidden'} kind
 * @property {unknown} [value] of a new node
 * @property {string} [icon]
 * @property {string} [type] of a configuration node
 * @property {readonly string[]} [choices]
 * @property {boolean} [required]
 * @property {string} [placeholder]
 * @property {boolean} [pace] stands in the fold of how a run goes over its appliances
 *
 * @typedef {object} Dialog
 * @property {string} name below `gateway-fleet-`
 * @property {string} color
 * @property {number} inputs
 * @property {readonly string[]} outputs their names in the catalog
 * @property {readonly Property[]} properties beside the name
 * @property {true} [about] has a sentence about the node
 */

/** @type {Property} */
const engine = { name: 'engine', kind: 'config', type: 'gateway-fleet-engine', icon: 'cogs', required: true };

/** @type {Property[]} */
const selection = [
  { name: 'select', kind: 'selection', value: '', icon: 'filter', required: true },
  { name: 'selectType', kind: 'hidden', value: 'str' },
];

/** @type {Property[]} */
const pace = [
  { name: 'canary', kind: 'number', value: '', pace: true },
  { name: 'batch', kind: 'share', value: '', placeholder: '10%', pace: true },
  { name: 'maxFailures', kind: 'share', value: '', placeholder: '5%', pace: true },
];

/** @type {Property} */
const data = { name: 'data', kind: 'choice', value: 'none', choices: ['none', 'all'], pace: true };

/** @type {readonly Dialog[]} */
export const dialogs = [
  {
    name: 'engine',
    color: '#C0DEED',
    inputs: 0,
    outputs: [],
    properties: [
      { name: 'inventory', kind: 'config', type: 'gateway-inventory', icon: 'list', required: true },
      { name: 'fleet', kind: 'text', value: '', icon: 'sitemap' },
      { name: 'url', kind: 'credential', icon: 'database', placeholder: 'postgresql://…' },
      { name: 'inFlight', kind: 'number', value: 16, icon: 'arrows-h' },
      { name: 'urgentInFlight', kind: 'number', value: 32, icon: 'bolt' },
      { name: 'connections', kind: 'number', value: 4, icon: 'plug' },
    ],
  },
  {
    name: 'run',
    color: '#B7A6E6',
    inputs: 1,
    outputs: ['report', 'progress'],
    properties: [
      engine,
      ...selection,
      { name: 'operation', kind: 'operation', value: '', icon: 'cog', required: true },
      { name: 'fields', kind: 'fields', value: {} },
      { name: 'credentialSet', kind: 'text', value: '', icon: 'lock' },
      ...pace,
      { name: 'maxAppliances', kind: 'number', value: '', pace: true },
      data,
      { name: 'urgent', kind: 'check', value: false },
      { name: 'dryRun', kind: 'check', value: false },
      { name: 'allowDestroy', kind: 'check', value: false },
    ],
  },
  {
    name: 'task',
    color: '#D2B4EA',
    inputs: 1,
    outputs: ['appliance', 'report', 'progress'],
    properties: [
      engine,
      ...selection,
      { name: 'atOnce', kind: 'number', value: 4, icon: 'arrows-h' },
      { name: 'minutes', kind: 'number', value: 60, icon: 'clock-o' },
      { name: 'repeat', kind: 'choice', value: 'begin-again', choices: ['begin-again', 'ask'], icon: 'repeat' },
      ...pace,
      data,
    ],
  },
  { name: 'done', color: '#A9C1F2', inputs: 1, outputs: [], properties: [], about: true },
  {
    name: 'control',
    color: '#E0B9CF',
    inputs: 1,
    outputs: ['answer'],
    properties: [
      engine,
      {
        name: 'operation',
        kind: 'choice',
        value: 'list',
        choices: ['list', 'get', 'approve', 'pause', 'resume', 'cancel', 'repeat-failed', 'metrics', 'msg'],
        icon: 'cog',
      },
      { name: 'limit', kind: 'number', value: 100, icon: 'shield' },
    ],
  },
];
