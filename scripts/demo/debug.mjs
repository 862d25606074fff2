// @ts-check
import { createRequire } from 'node:module';
import { once } from 'node:events';

const require = createRequire(import.meta.url);

/** @typedef {{ id: string, name: string, msg: unknown, raw: string }} Shown */

/**
 * Sees what the debug sidebar of the editor is shown, in order.
 * @param {import('./node-red.mjs').NodeRed} nodeRed
 */
export async function watchDebug(nodeRed) {
  // The version that Node-RED contains.
  const WebSocket = createRequire(require.resolve('node-red'))('ws');
  const socket = new WebSocket(`${nodeRed.url.replace('http', 'ws')}/comms`);
  /** @type {Shown[]} */
  const shown = [];
  /** @type {Shown[]} */
  const log = [];
  /** @type {Set<() => void>} */
  const waiting = new Set();
  socket.on('message', (/** @type {Buffer} */ data) => {
    const events = [JSON.parse(data.toString())].flat();
    for (const { topic, data: event } of events) {
      if (topic !== 'debug') continue;
      const line = { id: event.id, name: event.name, msg: decode(event), raw: event.msg };
      shown.push(line);
      log.push(line);
    }
    for (const look of waiting) look();
  });
  await once(socket, 'open');
  socket.send(JSON.stringify({ subscribe: 'debug' }));
  return {
    shown,
    /** Everything that was shown, also what `next` took. */
    log,
    /**
     * Takes the next message of the debug node of that name; waits for it.
     * @param {string} name
     * @param {number} [ms]
     * @returns {Promise<any>}
     */
    next: (name, ms = 10_000) =>
      new Promise((resolve, reject) => {
        const give = () => {
          const index = shown.findIndex((one) => one.name === name);
          if (index < 0) return;
          clearTimeout(timer);
          waiting.delete(give);
          resolve(shown.splice(index, 1)[0]?.msg);
        };
        const timer = setTimeout(() => {
          waiting.delete(give);
          reject(new Error(`The debug node "${name}" showed nothing within ${ms} ms. Others showed: ${JSON.stringify(shown)}`));
        }, ms);
        waiting.add(give);
        give();
      }),
    close: () => socket.close(),
  };
}

/** @param {{ format: string, msg: string }} event */
function decode({ format, msg }) {
  return /^(Object|array|number|boolean|error)/i.test(format) ? JSON.parse(msg) : msg;
}
