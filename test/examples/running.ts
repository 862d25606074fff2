import { join } from 'node:path';
import { expect } from 'vitest';
import type { watchDebug } from '../../scripts/demo/debug.mjs';
import { readExample } from '../../scripts/demo/examples.mjs';
import { selfSigned } from '../../src/simulator';
import type { Demo } from '../../scripts/demo/start.mjs';

/** All examples side by side in a real Node-RED, with their appliances and the messages of the debug sidebar. */
export type Running = Demo & { debug: Awaited<ReturnType<typeof watchDebug>> };

/** The check of each example, by file name. */
export type Outcomes = Record<string, (running: Running, example: string) => Promise<void>>;

/** The trusted certificate of the appliances; it can sign others. */
export const authority = selfSigned();

/** Password of the bundle in test/fixtures. */
export const BUNDLE_PASSWORD = 'Grün & "blau"';
export const fixture = (name: string): string => join(__dirname, '..', 'fixtures', name);

/** Presses the button of the Inject node of that name; `values` stand for properties of its message, as after a change in its dialog. */
export async function inject({ nodeRed }: Demo, example: string, name: string, values: Record<string, unknown> = {}): Promise<void> {
  const node = readExample(example).find((one) => one.type === 'inject' && one.name === name);
  const props = (node?.props ?? []) as { p: string; v: string; vt: string }[];
  // Without changes, the button sends what the flow defines.
  const own = Object.keys(values).length === 0 ? [] : props.map((prop) => (prop.p in values ? { p: prop.p, ...typed(values[prop.p]) } : prop));
  const response = await fetch(`${nodeRed.url}/inject/${node?.id}`, {
    method: 'POST',
    ...(own.length > 0 && { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ __user_inject_props__: own }) }),
  });
  expect(response.status, name).toBe(200);
}

function typed(value: unknown): { v: string; vt: string } {
  return typeof value === 'string' ? { v: value, vt: 'str' } : { v: JSON.stringify(value), vt: 'json' };
}

/** The message of the next error that an example shows. */
export async function failure({ debug }: Running): Promise<string> {
  return String(await debug.next('Why it failed'));
}

/** Requests that reached the appliance, as lines, without reads and logins. */
export function writes({ simulator }: Running): string[] {
  const made = simulator.requests.filter(({ method, path }) => method !== 'GET' && !path.endsWith('/realm_auth'));
  return made.map(({ method, path }) => `${method} ${path}`);
}
