import type { NodeAPI } from 'node-red';
import { translateText } from '@gateway-admin/node-red/nodes';

/** Default texts of node statuses, the same as in the English catalog. Each has fewer than 20 characters. */
export const STATUS_TEXTS = {
  starting: 'starting',
  ready: 'ready',
  differs: 'inventories differ',
  away: 'database away',
  'not-configured': 'not configured',
  'not-started': 'not started',
  waiting: 'waiting',
  progress: '__done__ of __n__',
  'progress-failed': '__done__ of __n__, __failed__ failed',
  paused: 'paused at __done__',
  done: '__ok__ of __n__ ok',
  open: '__n__ open',
  idle: 'idle',
  failed: 'failed',
  ok: 'ok',
} as const;

/** Default titles of nodes and operations, for failures before any appliance was involved. */
export const NODE_TITLE_TEXTS = {
  'run.title': 'fleet run',
  'task.title': 'fleet task',
  'done.title': 'fleet done',
  'control.title': 'fleet control',
  'control.operation.list': 'List runs',
  'control.operation.get': 'Get a run',
  'control.operation.approve': 'Approve a plan',
  'control.operation.pause': 'Pause a run',
  'control.operation.resume': 'Resume a run',
  'control.operation.cancel': 'Cancel a run',
  'control.operation.repeat-failed': 'Repeat failed items',
  'control.operation.metrics': 'Read metrics',
} as const;

/** Default texts of warnings. */
export const MESSAGE_TEXTS = {
  'fleet.said.differs':
    'Another Node-RED of this fleet has an inventory with other names or addresses. They do not share runs until both have the same inventory.',
  'fleet.said.redelivered': 'This report may have been sent before, because the Node-RED that sent it stopped at that moment.',
  'fleet.said.databases':
    'This Node-RED has engines with different databases. Locks use only the database of the engine __engine__. Give all engines the same database.',
  'fleet.said.same-name':
    'This Node-RED has two fleet tasks with the name __name__, and each would get items of the other. Rename one of them.',
} as const;

export type StatusKey = keyof typeof STATUS_TEXTS;

export function getStatusText(red: NodeAPI, key: StatusKey, values: Readonly<Record<string, number | string>> = {}): string {
  return translateText(red, `fleet.status.${key}`, STATUS_TEXTS[key], values);
}

export function getMessageText(red: NodeAPI, key: keyof typeof MESSAGE_TEXTS, values: Readonly<Record<string, string>> = {}): string {
  return translateText(red, key, MESSAGE_TEXTS[key], values);
}

export function getTitleText(red: NodeAPI, key: keyof typeof NODE_TITLE_TEXTS): string {
  return translateText(red, key, NODE_TITLE_TEXTS[key]);
}
