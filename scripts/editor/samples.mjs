// @ts-check
// A sample of the input and output of an operation. Samples of results come from samples.json, which
// test/editor/samples.test.ts makes and holds against a new run; the result of a write is always the same.
import { readFileSync } from 'node:fs';
import { pretty } from '../pretty.mjs';

/** @import { Operation } from '../../src/model/operation.js' */
/** @typedef {{ input?: Record<string, unknown>, payload: unknown, summary: string }} Sample */

/** @type {Record<string, Sample>} */
const samples = JSON.parse(readFileSync(new URL('samples.json', import.meta.url), 'utf8'));
/** Line width of a sample, for the narrow sidebar. */
const WIDTH = 70;

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
  return { before: pretty({ payload: input }, WIDTH), after: pretty({ payload, envelope }, WIDTH) };
}
