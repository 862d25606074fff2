import { openMessagePanel } from './message-panel';
import { formatPlural } from '../text';
import type { PreviewOptions } from './types';

interface PlannedRequest {
  method: string;
  path: string;
  query?: unknown;
  body?: unknown;
}

/** Shows what the node would send for its last message, or for a sample message. */
export function openPreviewPanel(options: PreviewOptions): void {
  openMessagePanel(options, {
    again: options.node._('preview.show'),
    titles: { sample: 'preview.sample', last: 'preview.last' },
    render: (result, answer) => renderResult(options, result, answer),
  });
}

interface PreviewResult {
  operation: string;
  reads?: boolean;
  plan: PlannedRequest[];
  /** Number of planned requests, of which the plan has only the first. */
  requests?: number;
  items: unknown[];
  total: number;
}

function renderResult({ node, body, label }: PreviewOptions, result: JQuery, answer: object): void {
  const preview = answer as PreviewResult;
  const { operation, plan, items, total } = preview;
  result.append($('<b class="gateway-verdict">').text(createVerdict(node, preview, label(operation))));
  if (!['op', ''].includes(String(body().operationType)))
    result.append($('<div>').text(node._('preview.operation', { name: label(operation) })));
  if (total > 0) {
    result.append($('<div>').text(node._('preview.items', { shown: items.length, total })));
    const list = $('<ul>').appendTo(result);
    for (const item of items) list.append($('<li>').text(describeItem(item)));
  }
  if (plan.length === 0) return;
  const requests = $('<details class="gateway-fold gateway-preview-requests">').append(
    $('<summary>').text(node._('preview.requests', { n: plan.length })),
  );
  for (const { method, path, query, body: content } of plan) {
    const line = $('<pre>').text(`${method} ${path}${query === undefined ? '' : ` ${JSON.stringify(query)}`}`);
    if (content !== undefined) line.append(document.createTextNode(`\n${JSON.stringify(content, null, 2)}`));
    requests.append(line);
  }
  result.append(requests);
}

/** Returns the verdict in the language of the editor, because the runtime knows only its own language. */
function createVerdict(node: RedNode, { reads, plan, requests = plan.length }: PreviewResult, title: string): string {
  if (reads) return node._(plan.length > 0 ? 'preview.reads' : 'preview.reads-several');
  return requests === 0 ? node._('preview.nothing') : formatPlural(node, 'preview.would', requests, { title });
}

function describeItem(item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item);
  const { 'active-user-name': user, 'source-ip': address, ...rest } = item as Record<string, unknown>;
  return user === undefined ? JSON.stringify(item) : [user, address, rest['session-id']].filter(Boolean).map(String).join(' · ');
}
