import type { Node, NodeAPI, NodeStatus } from 'node-red';
import type { CheckSummary, WatchState } from '../../src/watch';
import { toRehearsalStatus } from '../status/node-status';
import { statusForErrorCode } from '../status/status-text';
import { translateCount, translateText, type TextPlaceholderValues } from '../common/i18n';
import { RUNTIME_TEXTS } from '../common/runtime-texts';

/** Shows the time and the result of the last check below the node. */
export function showWatchStatus(red: NodeAPI, node: Node, state: WatchState, isRehearsal = false): void {
  const status = toNodeStatus(red, state);
  node.status(isRehearsal ? toRehearsalStatus(red, status) : status);
}

function toNodeStatus(red: NodeAPI, state: WatchState): Exclude<NodeStatus, string> {
  const text = (key: keyof typeof RUNTIME_TEXTS.watch.status, values?: TextPlaceholderValues): string =>
    translateCount(red, 'watch.status', RUNTIME_TEXTS.watch.status, key, values);
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
      return { fill: fill ?? 'red', shape: shape ?? 'ring', text: translateText(red, `status.${key}`, RUNTIME_TEXTS.status[key]) };
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
