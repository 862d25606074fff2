export { systemClock, type Clock } from './clock';
export { WATCH_KINDS, parseWatchFilter, getWatchKind, type WatchKind, type WatchedGateway } from './watch-kinds';
export { readLimits, type WatchLimit } from './limits';
export type { CheckSummary } from './tracker';
export { Watcher, type WatchEvent, type WatchOptions, type WatchState } from './watcher';
