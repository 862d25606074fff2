// @ts-check

/**
 * What the webhook answers.
 * @typedef {{ message: string, code?: string, ended?: Record<string, unknown>[], failed?: Record<string, unknown>[] }} Answer
 */

/**
 * Sends the example webhook and looks at the appliance's side of it. Gives what is wrong; nothing if all is as it should be.
 * @param {{
 *   simulator: import('../../src/simulator/index.js').Simulator,
 *   nodeRed: import('./node-red.mjs').NodeRed,
 *   token: string,
 *   user: string,
 * }} demo
 * @returns {Promise<string[]>}
 */
export async function checkWebhook({ simulator, nodeRed, token, user }) {
  /** @type {string[]} */
  const faults = [];
  const expect = (/** @type {boolean} */ right, /** @type {string} */ fault) => {
    if (!right) faults.push(fault);
  };
  const { sessions } = simulator.state;
  const before = sessions.ids();
  const own = before.filter((_, index) => sessions.record(sessions.findNumbers()[index] ?? -1)['active-user-name'] === user);
  const others = before.filter((id) => !own.includes(id));

  const refused = await post(nodeRed.url, 'a wrong secret', user);
  expect(refused.status === 401, `With a wrong secret the answer is ${refused.status}, not 401.`);
  expect(same(sessions.ids(), before), 'A call with a wrong secret ended sessions.');

  const answer = await post(nodeRed.url, token, user);
  console.log(`The webhook answered ${answer.status}: ${JSON.stringify(answer.body, null, 2)}\n`);
  expect(answer.status === 200, `The answer is ${answer.status}, not 200.`);
  const ended = (answer.body.ended ?? []).map((item) => item['session-id']);
  expect(own.length > 0 && same(ended, own), `The answer names ${ended.length} sessions; ${user} had ${own.length}.`);
  const left = sessions.ids();
  expect(
    same(left, others),
    `On the appliance ${before.length - left.length} sessions are gone; it should be the ${own.length} of ${user} and no others.`,
  );
  if (faults.length === 0)
    console.log(`On the appliance exactly these ${own.length} sessions are gone; the other ${left.length} are still there.`);
  return faults;
}

/**
 * @param {string} url
 * @param {string} token
 * @param {unknown} user
 * @returns {Promise<{ status: number, body: Answer }>}
 */
export async function post(url, token, user) {
  const response = await fetch(`${url}/end-sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-webhook-token': token },
    body: JSON.stringify({ user }),
    signal: AbortSignal.timeout(30_000),
  });
  return { status: response.status, body: await response.json() };
}

/**
 * @param {readonly unknown[]} one
 * @param {readonly unknown[]} other
 */
function same(one, other) {
  return one.length === other.length && new Set([...one, ...other]).size === one.length;
}
