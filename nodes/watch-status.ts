import type { Node, NodeAPI, NodeStatus } from 'node-red';
import type { Seen, WatchState } from '../src/watch';
import { shownFailure, ENGLISH } from './shown';
import { countedText, textOf, type Values } from './texts';

/** As the English catalogue has them; every text stays below 20 characters. */
export const WATCHING = {
  waiting: 'waiting',
  paused: 'paused',
  away: 'away since __time__',
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

/** The line below a watch: when it looked last, and what it saw. */
export function showWatch(red: NodeAPI, node: Node, state: WatchState): void {
  node.status(statusOf(red, state));
}

function statusOf(red: NodeAPI, state: WatchState): NodeStatus {
  const text = (key: keyof typeof WATCHING, values?: Values): string => countedText(red, 'watch.status', WATCHING, key, values);
  switch (state.state) {
    case 'seen':
      return { ...lookOf(state.seen), text: text(state.seen.key, { time: timeOf(state.at), n: countOf(state.seen.n) }) };
    case 'away':
      return { fill: 'red', shape: 'ring', text: text('away', { time: timeOf(state.since) }) };
    case 'failed': {
      const { key, fill, shape } = shownFailure(state.code);
      return { fill: fill ?? 'red', shape: shape ?? 'ring', text: textOf(red, `status.${key}`, ENGLISH[key]) };
    }
    case 'paused':
    case 'waiting':
      return { fill: 'grey', shape: 'ring', text: text(state.state) };
  }
}

function lookOf({ key }: Seen): Pick<NodeStatus, 'fill' | 'shape'> {
  return { fill: key === 'above' ? 'yellow' : 'green', shape: 'dot' };
}

/** Hours and minutes where Node-RED runs. */
function timeOf(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':');
}

/** Of five digits and more in thousands. */
function countOf(count = 0): string {
  return Math.abs(count) < 10_000 ? String(count) : `${Math.floor(count / 1000)}k`;
}
