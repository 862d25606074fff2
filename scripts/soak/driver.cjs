// Copied beside the Node-RED of a soak: a node that sends messages of all kinds, and one that counts the outcomes of
// them. It is told over IPC to go on, and asked for its counts and for the heap after a collection.
'use strict';

/** The time without an event that counts as a stall, in real time. */
const STILL_MS = 60_000 * Number(process.env.GATEWAY_SOAK_FACTOR ?? 1);
/** A simulated hour has bursts of messages with pauses of some minutes between them. */
const BURST = 60;
const QUIET_MINUTES = 5;

module.exports = (RED) => {
  let driver;
  let started = 0;
  let until = 0;
  let random = 1;
  /** Outcomes of the messages under way, by id. */
  const open = new Map();
  const counts = { outcomes: 0, doubled: 0, unknown: 0, codes: {}, logins: 0 };
  let finished = () => undefined;

  /** A linear congruential generator: the same seed gives the same messages. */
  const next = (below) => {
    random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
    return Math.floor((random / 2 ** 32) * below);
  };

  function send() {
    const kinds = driver.kinds;
    const at = next(kinds.length);
    const message = { _msgid: `soak-${started}`, payload: kinds[at].payload(started) };
    open.set(message._msgid, String(at));
    started++;
    const lanes = new Array(kinds.length).fill(null);
    lanes[at] = message;
    driver.send(lanes);
  }

  function Driver(definition) {
    RED.nodes.createNode(this, definition);
    driver = this;
    const role = (n) => `users/user-roles/user-role/Soak ${n % 5}`;
    this.kinds = [
      { payload: () => '' },
      { payload: () => '' },
      { payload: () => ({}) },
      { payload: (n) => ({ path: role(n) }) },
      { payload: (n) => ({ path: role(n), body: { description: `Number ${n % 3}` } }) },
      { payload: (n) => ({ username: `soak-${n % 7}`, 'password-cleartext': 'A secret of the soak', fullname: `Number ${n % 3}` }) },
      { payload: (n) => ({ groups: [{ name: `Soak ${n % 4}`, group: `CORP\\Soak ${n % 4}` }] }) },
      { payload: () => ({ path: 'system/status/overview' }) },
    ];
  }
  RED.nodes.registerType('soak-driver', Driver);

  RED.nodes.registerType('soak-sink', function Sink(definition) {
    RED.nodes.createNode(this, definition);
    this.on('input', (message, _send, done) => {
      done();
      const had = open.get(message._msgid);
      if (had === undefined) {
        // A message that already has its outcome, or an unknown one.
        if (/^soak-/.test(message._msgid)) counts.doubled++;
        else counts.unknown++;
        return;
      }
      open.delete(message._msgid);
      counts.outcomes++;
      const code = message.error?.code ?? 'done';
      counts.codes[code] = (counts.codes[code] ?? 0) + 1;
      counts.logins += message.envelope?.logins ?? 0;
      if (started < until) process.nextTick(send);
      else if (open.size === 0) finished();
    });
  });

  /** Sends further messages, with a limit of running ones. */
  const go = ({ messages, atOnce, seed }) =>
    new Promise((resolve) => {
      let had = -1;
      // Longer than any time limit: a message without an outcome by now gets none.
      const watch = setInterval(() => {
        if (had === counts.outcomes) finished();
        had = counts.outcomes;
      }, STILL_MS);
      finished = () => {
        clearInterval(watch);
        resolve();
      };
      if (seed !== undefined) random = seed;
      until = started + messages;
      for (let lane = 0; lane < Math.min(atOnce, messages); lane++) send();
    });

  /** Sends bursts for some minutes, the first one at once. */
  const bursts = async ({ minutes, atOnce, seed }) => {
    random = seed;
    const over = Date.now() + minutes * 60_000;
    while (Date.now() < over) {
      await go({ messages: 1 + next(BURST), atOnce });
      await new Promise((resolve) => setTimeout(resolve, next(QUIET_MINUTES * 60) * 1000));
    }
  };

  process.on('message', async (asked) => {
    if (asked.job?.minutes !== undefined) await bursts(asked.job);
    if (asked.job?.messages !== undefined) await go(asked.job);
    for (let round = 0; round < 3; round++) {
      globalThis.gc?.();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const heap = process.memoryUsage().heapUsed / 2 ** 20;
    process.send({ id: asked.id, value: { ...counts, started, open: [...open.values()], heap } });
  });
};
