import { renderMarkup } from '../text';
import type { PreviewOptions } from './types';

interface PlannedRequest {
  method: string;
  path: string;
  query?: unknown;
  body?: unknown;
}

/** Shows what the node would send for its last message, or for a sample message. */
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
  // Shows an operation that a message or a variable selected.
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
