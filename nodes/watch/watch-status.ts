import type { Node, NodeAPI, NodeStatus } from 'node-red';
import type { CheckSummary, WatchState } from '../../src/watch';
import { statusForErrorCode, ENGLISH_STATUS_TEXTS } from '../status/status-text';
import { translateCount, translateText, type TextValues } from '../common/i18n';

/** As the English catalogue has them; every text stays below 20 characters. */
export const WATCH_STATUS_TEXTS = {
  waiting: 'waiting',
  paused: 'paused',
  unreachable: 'unreachable __time__',
  sessions: '__time__ __n__ sessions',
  'sessions-one': '__time__ 1 session',
  above: '__time__ __n__ crossed',
  fine: '__time__ all fine',
  same: '__time__ unchanged',
  changed: '__time__ changed',
  members: '__time__ __n__ members',
  'members-one': '__time__ 1 member',
  percent: '__time__ __n__ %',
  days: '__time__ __n__ days',
  'days-one': '__time__ 1 day',
} as const;

/** Shows the time and the result of the last check below the node. */
export function showWatchStatus(red: NodeAPI, node: Node, state: WatchState): void {
  node.status(toNodeStatus(red, state));
}

function toNodeStatus(red: NodeAPI, state: WatchState): NodeStatus {
  const text = (key: keyof typeof WATCH_STATUS_TEXTS, values?: TextValues): string =>
    translateCount(red, 'watch.status', WATCH_STATUS_TEXTS, key, values);
  switch (state.state) {
    case 'checked':
      return {
        ...getStyle(state.summary),
        text: text(state.summary.key, { time: formatTime(state.at), n: formatCheckCount(state.summary.n) }),
      };
    case 'unreachable':
      return { fill: 'red', shape: 'ring', text: text('unreachable', { time: formatTime(state.since) }) };
    case 'failed': {
      const { key, fill, shape } = statusForErrorCode(state.code);
      return { fill: fill ?? 'red', shape: shape ?? 'ring', text: translateText(red, `status.${key}`, ENGLISH_STATUS_TEXTS[key]) };
    }
    case 'paused':
    case 'waiting':
      return { fill: 'grey', shape: 'ring', text: text(state.state) };
  }
}

function getStyle({ key }: CheckSummary): Pick<NodeStatus, 'fill' | 'shape'> {
  return { fill: key === 'above' ? 'yellow' : 'green', shape: 'dot' };
}

/** Hours and minutes in the time zone of Node-RED. */
function formatTime(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':');
}

/** Returns a count, in thousands from five digits. */
function formatCheckCount(count = 0): string {
  return Math.abs(count) < 10_000 ? String(count) : `${Math.floor(count / 1000)}k`;
}
