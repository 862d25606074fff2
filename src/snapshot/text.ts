import type { TreeComparison } from '../change/compare';
import { CONFIGURATION } from '../model/path';
import type { Sentence } from '../model/sentence';

/** Nobody reads on, and mails have an end. */
const MOST_LINES = 500;
const LONGEST = 200;

/** A comparison for people: a sentence with counts, then `+`, `-` and `~` with the fields that differ. */
export function textOfComparison({ equal, added, removed, changed }: TreeComparison, appliance: string, reference: Sentence): string {
  if (equal) return `${appliance} does not differ from ${reference.text()}.`;
  const resources = new Set(changed.map(({ path }) => path)).size;
  const counts = [
    ...(added.length > 0 ? [`${added.length} added`] : []),
    ...(removed.length > 0 ? [`${removed.length} removed`] : []),
    ...(resources > 0 ? [`${resources} changed`] : []),
  ];
  const lines = [...added.map((path) => `+ ${shown(path)}`), ...removed.map((path) => `- ${shown(path)}`)];
  let last = '';
  for (const { path, field, before, after } of changed) {
    if (path !== last) lines.push(`~ ${shown(path)}`);
    last = path;
    lines.push(`    ${field.slice(1)}: ${valueText(before)} → ${valueText(after)}`);
  }
  const more = lines.length - MOST_LINES;
  const all = more > 0 ? [...lines.slice(0, MOST_LINES), `… and ${more} more lines`] : lines;
  return [`${appliance} differs from ${reference.text()}: ${counts.join(', ')}.`, '', ...all].join('\n');
}

function shown(place: string): string {
  return place.slice(CONFIGURATION.length + 1) || '/';
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '(nothing)';
  const text = JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST).toWellFormed()}…` : text;
}
