import type { AuditFinding } from './finding';

/** The properties of an audit result that its report shows. */
export interface AuditReportInput {
  readonly appliance: string;
  readonly time: string;
  readonly findings: readonly AuditFinding[];
  readonly excepted: readonly AuditFinding[];
  readonly notApplicable: readonly string[];
}

const COLUMNS = ['severity', 'rule', 'name', 'path', 'message', 'fix', 'field', 'value'] as const;
const STYLE =
  ':root{color-scheme:light dark}body{font:14px/1.5 system-ui,sans-serif;margin:2em}table{border-collapse:collapse;width:100%}' +
  'th,td{border:1px solid #8888;padding:.3em .5em;text-align:left;vertical-align:top;overflow-wrap:anywhere}thead{display:table-header-group}' +
  'tr{break-inside:avoid}.high{border-left:4px solid #d33}.medium{border-left:4px solid #d90}.low{border-left:4px solid #48c}' +
  '@media print{body{margin:0;font-size:11px}}';

/** One line per finding. */
export function writeTextReport({ findings }: AuditReportInput): string {
  if (findings.length === 0) return 'No findings.';
  return findings
    .map(({ severity, rule, path, name, message }) =>
      toOneLine(`${severity} ${rule}: ${[name, path].filter((part) => part !== '').join(', ')}: ${message}`),
    )
    .join('\n');
}

/** Creates a page without scripts and without links to other files. */
export function writeHtmlReport(input: AuditReportInput): string {
  const { appliance, time, findings, excepted, notApplicable } = input;
  const rows = findings.map((finding) => {
    const cells = toCells(finding).map(
      (cell, index) => `<td${index === 0 ? ` class="${escapeHtml(finding.severity)}"` : ''}>${escapeHtml(cell)}</td>`,
    );
    return `<tr>${cells.join('')}</tr>`;
  });
  const title = escapeHtml(`Audit of ${appliance}`);
  const head = COLUMNS.map((column) => `<th>${column}</th>`).join('');
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    `<title>${title}</title><style>${STYLE}</style></head><body><h1>${title}</h1>`,
    `<p>${escapeHtml(time)}. ${findings.length} findings, ${excepted.length} exceptions.</p>`,
    `<table><thead><tr>${head}</tr></thead><tbody>${rows.join('\n')}</tbody></table>`,
    `<p>Not applicable: ${escapeHtml(notApplicable.join(', ') || 'none')}</p></body></html>`,
  ].join('\n');
}

export function writeMarkdownReport({ appliance, time, findings, excepted }: AuditReportInput): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    `# Audit of ${escapeMarkdown(appliance)}`,
    '',
    `${time}. ${findings.length} findings, ${excepted.length} exceptions.`,
    '',
    row(COLUMNS),
    row(COLUMNS.map(() => '---')),
    ...findings.map((finding) => row(toCells(finding).map(escapeMarkdown))),
    '',
  ].join('\n');
}

/** Matches the start of a formula, also in a cell with a line break, which the pattern of Papaparse misses. */
const FORMULA_START = /^[=+\-@\t\r\n]/;

/** Writes the findings as CSV in which no spreadsheet takes a cell for a formula. */
export async function writeCsvReport({ findings }: AuditReportInput): Promise<string> {
  const { default: papaparse } = await import('papaparse');
  return papaparse.unparse({ fields: [...COLUMNS], data: findings.map(toCells) }, { escapeFormulae: FORMULA_START });
}

function toCells({ severity, rule, name, path, message, fix, evidence }: AuditFinding): string[] {
  const value = evidence?.value;
  const shown = value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  return [severity, rule, name, path, message, fix, evidence?.field ?? '', shown];
}

const HTML_ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => HTML_ENTITIES[character] ?? '');
}

function escapeMarkdown(text: string): string {
  // HTML last: the number sign of `&#39;` must not be escaped.
  return escapeHtml(toOneLine(text).replace(/[\\`*_[\]|#~]/g, '\\$&'));
}

/** A name with a line break must not look like another finding. */
function toOneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}
