import type { NodeRed } from '../../scripts/demo/node-red.mjs';

/** Settings whose Function nodes have a `tell`: what it is given is a line of this file before it returns. */
export const createLogToFileSettings = (file: string): string => `const { appendFileSync } = require('node:fs');
module.exports.functionGlobalContext = { tell: (line) => appendFileSync(${JSON.stringify(file)}, JSON.stringify(line) + '\\n') };`;

/** Calls the `http in` of this path. Rejects if Node-RED is killed meanwhile. */
export async function postToFlow(nodeRed: NodeRed | undefined, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(`${nodeRed?.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
