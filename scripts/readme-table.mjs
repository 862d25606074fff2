// @ts-check
// The table of operations in README.md, between its two markers, from the operation table.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { readAreas } from './build-editor.mjs';

/** @import { Area, Field } from '../src/model/operation.js' */

const BEGIN = '<!-- operations -->';
const END = '<!-- /operations -->';
const BETWEEN = new RegExp(`${BEGIN}[^]*?${END}`);

/** @param {[string, Field]} entry */
function fieldCell([name, field]) {
  const marked = field.subject ? `**${name}**` : `\`${name}\``;
  return `${marked}${field.required ? '\\*' : ''}`;
}

const cell = (/** @type {string} */ text) => text.replaceAll('|', '\\|');

/** @param {Area} area */
function rows(area) {
  return Object.entries(area.operations).map(([name, operation], index) => {
    const fields = Object.entries(operation.fields).map(fieldCell).join(', ') || '–';
    const cells = [index === 0 ? `\`gateway-${area.name}\`` : '', `\`${name}\``, operation.effect, fields, operation.data];
    return `| ${cells.map(cell).join(' | ')} |`;
  });
}

/** The table as Markdown, with its markers. @param {readonly Area[]} areas */
export function operationsTable(areas) {
  const head = ['| node | operation | effect | fields | `msg.payload` |', '|---|---|---|---|---|'];
  return [BEGIN, '', ...head, ...areas.flatMap(rows), '', '\\* required. **Bold**: may also be the payload itself.', '', END].join('\n');
}

/**
 * Replaces the table in README.md. Without a README, or without markers in it, there is nothing to do. Answers whether it was up to date.
 * @param {string} root @param {string} compiled
 */
export function updateReadme(root, compiled, write = true) {
  const file = `${root}/README.md`;
  if (!existsSync(file)) return true;
  const before = readFileSync(file, 'utf8');
  if (!BETWEEN.test(before)) return true;
  const table = operationsTable(readAreas(compiled));
  const after = before.replace(BETWEEN, () => table);
  if (after !== before && write) writeFileSync(file, after);
  return after === before;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const check = process.argv.includes('--check');
  if (!updateReadme(root, `${root}dist`, !check) && check) {
    console.error('The table of operations in README.md is out of date: run node scripts/readme-table.mjs.');
    process.exit(1);
  }
}
