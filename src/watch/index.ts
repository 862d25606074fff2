export { machineClock, type Clock } from './clock';
export { KINDS, filterFrom, kindNamed, type WatchKind, type Watched } from './kinds';
export { readLimits, type Limit } from './limits';
export type { Seen } from './tracker';
export { Watcher, type WatchEvent, type WatchOptions, type WatchState } from './watcher';
