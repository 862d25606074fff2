import type { TreeComparison } from '../change/compare';
import { CONFIGURATION_ROOT } from '../model/path';
import type { SafeMessage } from '../model/safe-message';

/** Maximum number of lines, so that the text fits into a mail. */
const MAX_LINES = 500;
const MAX_VALUE_LENGTH = 200;

/** Formats a comparison for people: a sentence with counts, then `+`, `-` and `~` lines with fields. */
export function formatComparison({ equal, added, removed, changed }: TreeComparison, appliance: string, reference: SafeMessage): string {
  if (equal) return `${appliance} does not differ from ${reference.text()}.`;
  const resources = new Set(changed.map(({ path }) => path)).size;
  const counts = [
    ...(added.length > 0 ? [`${added.length} added`] : []),
    ...(removed.length > 0 ? [`${removed.length} removed`] : []),
    ...(resources > 0 ? [`${resources} changed`] : []),
  ];
  const lines = [...added.map((path) => `+ ${formatPath(path)}`), ...removed.map((path) => `- ${formatPath(path)}`)];
  let last = '';
  for (const { path, field, before, after } of changed) {
    if (path !== last) lines.push(`~ ${formatPath(path)}`);
    last = path;
    lines.push(`    ${field.slice(1)}: ${formatValue(before)} → ${formatValue(after)}`);
  }
  const omitted = lines.length - MAX_LINES;
  const shownLines = omitted > 0 ? [...lines.slice(0, MAX_LINES), `… and ${omitted} more lines`] : lines;
  return [`${appliance} differs from ${reference.text()}: ${counts.join(', ')}.`, '', ...shownLines].join('\n');
}

function formatPath(path: string): string {
  return path.slice(CONFIGURATION_ROOT.length + 1) || '/';
}

function formatValue(value: unknown): string {
  if (value === null || value === undefined) return '(nothing)';
  const text = JSON.stringify(value);
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH).toWellFormed()}…` : text;
}
