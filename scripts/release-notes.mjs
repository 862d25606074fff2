// @ts-check
// Prints the changelog of one version: `node scripts/release-notes.mjs v0.2.0`. Ends with 1 if tag, package.json and changelog do not agree.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { root } from './tools.mjs';

/**
 * The section of a version, without its heading. Throws an Error that says what to do when it is not ready to be released.
 * @param {{ tag: string, version: string, changelog: string }} release
 * @returns {string}
 */
export function releaseNotes({ tag, version, changelog }) {
  if (tag !== `v${version}`) throw new Error(`The tag is ${tag}, but package.json has ${version}: the tag has to be v${version}.`);
  const sections = changelog.split(/^## /m);
  const section = sections.find((one) => one.startsWith(`[${version}]`));
  if (section === undefined) throw new Error(`CHANGELOG.md has no section [${version}].`);
  const [heading = '', ...lines] = section.split('\n');
  if (!/^\[[^\]]+\] - \d{4}-\d{2}-\d{2}$/.test(heading))
    throw new Error(`CHANGELOG.md: "${heading}" has no date. Write [${version}] - YYYY-MM-DD.`);
  const notes = lines.join('\n').trim();
  if (notes === '') throw new Error(`CHANGELOG.md says nothing of [${version}].`);
  return notes;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    console.log(releaseNotes({ tag: process.argv[2] ?? '', version, changelog: readFileSync(join(root, 'CHANGELOG.md'), 'utf8') }));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
