import type { NodeAPI } from 'node-red';
import { translateText } from '@gateway-admin/node-red/nodes';

/** As the English catalogue has them; texts of a status stay below 20 characters. */
export const STATUS_TEXTS = {
  starting: 'starting',
  ready: 'ready',
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

/** What people call a node, and what it is asked for: with what failed before any appliance was involved. */
export const TITLES = {
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
  'control.operation.repeat-failed': 'Repeat what failed',
} as const;

/** Sentences that nodes say by themselves. */
export const SENTENCES = {
  'fleet.said.redelivered': 'This report may have been given before: the Node-RED that was giving it ended at that moment.',
  'fleet.said.databases':
    'This Node-RED has engines with different databases. What only one may do at a time is agreed on by the database of one of them, __engine__: give all the same.',
  'fleet.said.same-name':
    'Another fleet task of this Node-RED is called __name__ too, and each would get what is the other’s: give one of them another name.',
} as const;

export type StatusKey = keyof typeof STATUS_TEXTS;

export function getStatusText(red: NodeAPI, key: StatusKey, values: Readonly<Record<string, number | string>> = {}): string {
  return translateText(red, `fleet.status.${key}`, STATUS_TEXTS[key], values);
}

export function getSentence(red: NodeAPI, key: keyof typeof SENTENCES, values: Readonly<Record<string, string>> = {}): string {
  return translateText(red, key, SENTENCES[key], values);
}

export function getTitle(red: NodeAPI, key: keyof typeof TITLES): string {
  return translateText(red, key, TITLES[key]);
}
