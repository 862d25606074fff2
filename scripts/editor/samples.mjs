// @ts-check
// A sample of what goes into an operation and what comes out. What only a run can tell comes from samples.json, which
// test/samples.test.ts makes and holds against a new run; the result of a write is always the same.
import { readFileSync } from 'node:fs';

/** @import { Operation } from '../../src/model/operation.js' */
/** @typedef {{ input?: Record<string, unknown>, payload: unknown, summary: string }} Sample */

/** @type {Record<string, Sample>} */
const samples = JSON.parse(readFileSync(new URL('samples.json', import.meta.url), 'utf8'));
const LINE = 70;

/** JSON that a narrow sidebar can show. @param {unknown} value @param {string} [indent] @returns {string} */
function pretty(value, indent = '') {
  const line = JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ');
  if (typeof value !== 'object' || value === null || indent.length + line.length <= LINE) return line;
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((item) => `${inner}${pretty(item, inner)}`)
    : Object.entries(value).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${pretty(item, inner)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${parts.join(',\n')}\n${indent}${close}`;
}

/** Folders, limits and the like come from the dialog alone. @param {Operation} operation @param {Record<string, unknown>} input */
function fromMessage(operation, input) {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !operation.fields[name]?.guard));
}

/** @param {string} area @param {string} name @param {Operation} operation @returns {{ before: string, after: string }} */
export function sampleOf(area, name, operation) {
  const sample = samples[`${area}.${name}`];
  const input = fromMessage(operation, sample?.input ?? operation.example.input);
  const payload = sample?.payload ?? {
    result: { info: [{ message: 'The operation succeeded without warning or error.' }], warnings: [], errors: [] },
  };
  const envelope = { ok: true, ...(sample && { summary: sample.summary }) };
  return { before: pretty({ payload: input }), after: pretty({ payload, envelope }) };
}
