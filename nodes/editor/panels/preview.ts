import type { ApiResult } from '../api';
import { renderMarkup } from '../text';

/** What the preview of one dialog is made with. */
export interface PreviewOptions {
  readonly node: RedNode;
  readonly container: JQuery;
  /** Operation and fields as the dialog holds them now. */
  readonly body: () => Record<string, unknown>;
  /** A message that has everything that the node takes from one. */
  readonly createSample: () => Record<string, unknown>;
  /** The last message that came to the node. */
  readonly fetchLastMessage: () => Promise<ApiResult>;
  /** What an operation is called. */
  readonly label: (name: string) => string;
  readonly post: (body: Record<string, unknown>) => Promise<ApiResult>;
  readonly heading: (node: RedNode, answer: { code: string; reason?: string }) => string;
}

interface PlannedRequest {
  method: string;
  path: string;
  query?: unknown;
  body?: unknown;
}

/** The last message that the node saw, or a sample, and what it would send for that. */
export function openPreviewPanel(options: PreviewOptions): void {
  const { node, container } = options;
  container.empty().addClass('gateway-panel');
  const heading = $('<span>');
  const message = $('<textarea rows="5" spellcheck="false">');
  const sampleButton = $('<button type="button" class="red-ui-button">').hide();
  const button = $('<button type="button" class="red-ui-button">').text(node._('preview.show'));
  const result = $('<div class="gateway-difference" role="status" aria-live="polite">');
  const fill = (title: string, value: unknown): void => {
    heading.text(title);
    message.val(JSON.stringify(value, null, 2));
    void showPreview(options, String(message.val()), result);
  };
  button.on('click', () => void showPreview(options, String(message.val()), result));
  container.append($('<label>').append(heading, message), button, ' ', sampleButton, result);
  void options.fetchLastMessage().then((last) => {
    const showSample = (): void => fill(node._('preview.sample'), options.createSample());
    if (!last.ok || last.message === undefined) {
      showSample();
      return;
    }
    const { at } = last as { at?: number };
    fill(node._('preview.last', { time: new Date(Number(at)).toLocaleTimeString() }), last.message);
    sampleButton.text(node._('preview.other')).on('click', showSample).show();
  });
  RED.tray.resize();
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
  if (!answer.ok) {
    const heading = answer.code === 'BAD_INPUT' || answer.code === 'LIMIT' ? '' : options.heading(node, answer);
    result.append($('<b>').text(heading), renderMarkup($('<div>'), answer.message));
  } else renderResult(options, result, answer);
  RED.tray.resize();
}

interface PreviewResult {
  operation: string;
  reads?: boolean;
  plan: PlannedRequest[];
  items: unknown[];
  total: number;
  summary?: string;
}

function renderResult({ node, body, label }: PreviewOptions, result: JQuery, answer: object): void {
  const { operation, reads, plan, items, total, summary } = answer as PreviewResult;
  // What a message chooses, or a variable, is told.
  if (!['op', ''].includes(String(body().operationType)))
    result.append($('<div>').text(node._('preview.operation', { name: label(operation) })));
  const summaryKey = reads ? (plan.length > 0 ? 'reads' : 'reads-several') : plan.length === 0 ? 'nothing' : 'would';
  result.append($('<b>').text(summary ?? ''), $('<div>').text(node._(`preview.${summaryKey}`)));
  for (const { method, path, query, body } of plan) {
    const line = $('<pre>').text(`${method} ${path}${query === undefined ? '' : ` ${JSON.stringify(query)}`}`);
    if (body !== undefined) line.append(document.createTextNode(`\n${JSON.stringify(body, null, 2)}`));
    result.append(line);
  }
  if (total === 0) return;
  result.append($('<div>').text(node._('preview.items', { shown: items.length, total })));
  const list = $('<ul>').appendTo(result);
  for (const item of items) list.append($('<li>').text(describeItem(item)));
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
