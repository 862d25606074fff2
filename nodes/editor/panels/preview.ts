import { pluralized, renderMarkup } from '../text';
import type { PreviewOptions } from './types';

interface PlannedRequest {
  method: string;
  path: string;
  query?: unknown;
  body?: unknown;
}

/** Shows what the node would send for its last message, or for a sample message. The verdict comes first, next to the button. */
export function openPreviewPanel(options: PreviewOptions): void {
  const { node, container } = options;
  container.empty().addClass('gateway-panel');
  const result = $('<div class="gateway-difference" role="status" aria-live="polite">').text(node._('list.searching'));
  const summary = $('<summary>');
  const message = $('<textarea rows="5" spellcheck="false">').attr('aria-label', node._('preview.message'));
  const sampleButton = $('<button type="button" class="red-ui-button red-ui-button-small">').hide();
  const button = $('<button type="button" class="red-ui-button red-ui-button-small">').text(node._('preview.show'));
  const sample = options.createSample();
  // A message that supplies no field needs no attention.
  const messageFold = $('<details class="gateway-fold gateway-preview-message">').prop('open', hasFieldValues(sample));
  const show = (): void => void showPreview(options, String(message.val()), result);
  const fill = (title: string, value: unknown): void => {
    summary.text(title);
    message.val(JSON.stringify(value, null, 2));
    show();
  };
  button.on('click', show);
  container.append(result, messageFold.append(summary, message, button, ' ', sampleButton));
  reveal(container);
  void options.fetchLastMessage().then((last) => {
    const showSample = (): void => fill(node._('preview.sample'), sample);
    if (!last.ok || last.message === undefined) {
      showSample();
      return;
    }
    const { at } = last as { at?: number };
    fill(node._('preview.last', { time: new Date(Number(at)).toLocaleTimeString() }), last.message);
    sampleButton.text(node._('preview.other')).on('click', showSample).show();
  });
}

function hasFieldValues({ payload, ...others }: Record<string, unknown>): boolean {
  const isEmptyObject = typeof payload === 'object' && payload !== null && Object.keys(payload).length === 0;
  return !isEmptyObject || Object.keys(others).length > 0;
}

/** Scrolls the result into view, because the button is near the end of the form. */
function reveal(container: JQuery): void {
  RED.tray.resize();
  container.closest('.gateway-preview')[0]?.scrollIntoView({ block: 'nearest' });
}

async function showPreview(options: PreviewOptions, text: string, result: JQuery): Promise<void> {
  const { node } = options;
  const message = parseMessage(text);
  if (!message) {
    result.text(node._('preview.no-json'));
    return;
  }
  result.text(node._('list.searching'));
  const answer = await options.post({ ...options.body(), message });
  result.empty();
  if (answer.ok) renderResult(options, result, answer);
  else result.append($('<b>').text(options.heading(node, answer)), renderMarkup($('<div>'), answer.message));
  reveal(options.container);
}

interface PreviewResult {
  operation: string;
  reads?: boolean;
  plan: PlannedRequest[];
  /** Number of planned requests. The plan has only the first. */
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

/** Returns the verdict in the language of the editor, while the runtime has only its own language. */
function createVerdict(node: RedNode, { reads, plan, requests = plan.length }: PreviewResult, title: string): string {
  if (reads) return node._(plan.length > 0 ? 'preview.reads' : 'preview.reads-several');
  return requests === 0 ? node._('preview.nothing') : pluralized(node, 'preview.would', requests, { title });
}

function describeItem(item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item);
  const { 'active-user-name': user, 'source-ip': address, ...rest } = item as Record<string, unknown>;
  return user === undefined ? JSON.stringify(item) : [user, address, rest['session-id']].filter(Boolean).map(String).join(' · ');
}

function parseMessage(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
