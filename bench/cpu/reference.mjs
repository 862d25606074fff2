// @ts-check
// The fixed work that CPU per message is compared with. It does what a message does: objects, texts, maps, promises, turns of the event
// loop. Never change it: the limits in limits.json are multiples of it.
import { setImmediate } from 'node:timers';

const DOCUMENT = JSON.stringify({
  name: 'gateway',
  list: Array.from({ length: 8 }, (_, index) => ({ id: `id-${index}`, value: index * 1000, on: index % 2 === 0 })),
});
const TURN = 10;

/** @param {number} index */
async function step(index) {
  const value = JSON.parse(DOCUMENT);
  const names = new Map();
  for (const { id, value: number } of value.list) names.set(id, number + index);
  let text = '';
  for (const [id, number] of names) text += `${id}=${number};`;
  return text.replace(/id-(\d)/g, '$1').length;
}

/** @param {number} index */
async function chain(index) {
  return (await step(index)) + (await Promise.resolve(index));
}

/** @param {number} count */
export async function runReference(count) {
  let sum = 0;
  for (let index = 0; index < count; index++) {
    sum += await chain(index);
    if (index % TURN === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return sum;
}
