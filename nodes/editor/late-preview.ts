import type { Answer } from './asking';
import { prose } from './words';

/** What the preview of one dialog is made with. */
export interface PreviewOpening {
  readonly node: RedNode;
  readonly place: JQuery;
  /** Operation and fields as the dialog holds them now. */
  readonly body: () => Record<string, unknown>;
  /** A message that has everything that the node takes from one. */
  readonly sample: () => Record<string, unknown>;
  readonly ask: (body: Record<string, unknown>) => Promise<Answer>;
  readonly heading: (node: RedNode, answer: { code: string; reason?: string }) => string;
}

interface Planned {
  method: string;
  path: string;
  query?: unknown;
  body?: unknown;
}

/** A sample message, and what the node would send for it. */
export function openPreview(opening: PreviewOpening): void {
  const { node, place } = opening;
  place.empty().addClass('gateway-late');
  const sample = $('<textarea rows="4" spellcheck="false">').val(JSON.stringify(opening.sample(), null, 2));
  const label = $('<label>').append($('<span>').text(node._('preview.sample')), sample);
  const button = $('<button type="button" class="red-ui-button">').text(node._('preview.show'));
  const result = $('<div class="gateway-difference" role="status" aria-live="polite">').hide();
  button.on('click', () => void show(opening, String(sample.val()), result.show()));
  place.append(label, button, result);
  RED.tray.resize();
  void show(opening, String(sample.val()), result.show());
}

async function show(opening: PreviewOpening, text: string, result: JQuery): Promise<void> {
  const { node } = opening;
  const message = messageIn(text);
  if (!message) {
    result.text(node._('preview.no-json'));
    return;
  }
  result.text(node._('list.searching'));
  const answer = await opening.ask({ ...opening.body(), message });
  result.empty();
  if (!answer.ok) {
    const words = answer.code === 'BAD_INPUT' || answer.code === 'LIMIT' ? '' : opening.heading(node, answer);
    result.append($('<b>').text(words), prose($('<div>'), answer.message));
  } else if (answer.reads === true) result.text(node._('preview.reads'));
  else tell(node, result, answer);
  RED.tray.resize();
}

function tell(node: RedNode, result: JQuery, answer: Record<string, unknown>): void {
  const { plan, items, total, summary } = answer as { plan: Planned[]; items: unknown[]; total: number; summary?: string };
  result.append($('<b>').text(summary ?? ''), $('<div>').text(node._(plan.length === 0 ? 'preview.nothing' : 'preview.would')));
  for (const { method, path, query, body } of plan) {
    const line = $('<pre>').text(`${method} ${path}${query === undefined ? '' : ` ${JSON.stringify(query)}`}`);
    if (body !== undefined) line.append(document.createTextNode(`\n${JSON.stringify(body, null, 2)}`));
    result.append(line);
  }
  if (total === 0) return;
  result.append($('<div>').text(node._('preview.items', { shown: items.length, total })));
  const list = $('<ul>').appendTo(result);
  for (const item of items) list.append($('<li>').text(wordsOf(item)));
}

function wordsOf(item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item);
  const { 'active-user-name': user, 'source-ip': address, ...rest } = item as Record<string, unknown>;
  return user === undefined ? JSON.stringify(item) : [user, address, rest['session-id']].filter(Boolean).map(String).join(' · ');
}

function messageIn(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
