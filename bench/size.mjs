// @ts-check
// The size of the measured work.

/**
 * @typedef {object} Size
 * @property {number} ms of a closed loop
 * @property {number} warmMs before it: what a process has not done for a while, it has to compile again
 * @property {number} sessions of a long list
 * @property {number} shortSessions of a short one
 * @property {number} someSessions of one that people have
 * @property {number} watchedSessions
 * @property {number} kills at no think time
 * @property {number} slowKills at 5 ms
 * @property {number} writes of each kind, with a journal and without
 * @property {number} policies of a snapshot
 * @property {number} transferMiB of an export or import
 * @property {number} reps
 */

/** @type {Size} */
export const FULL = {
  ms: 1500,
  warmMs: 500,
  sessions: 100_000,
  shortSessions: 1000,
  someSessions: 20_000,
  watchedSessions: 10_000,
  kills: 10_000,
  slowKills: 2000,
  writes: 2000,
  policies: 20_000,
  transferMiB: 1024,
  reps: 5,
};
/** A short run that proves that everything works. Its figures mean nothing. */
export const QUICK = {
  ms: 60,
  warmMs: 20,
  sessions: 2000,
  shortSessions: 400,
  someSessions: 1000,
  watchedSessions: 400,
  kills: 50,
  slowKills: 20,
  writes: 100,
  policies: 300,
  transferMiB: 4,
  reps: 1,
};
