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
  /** The last message that came to the node. */
  readonly last: () => Promise<Answer>;
  /** What an operation is called. */
  readonly label: (name: string) => string;
  readonly ask: (body: Record<string, unknown>) => Promise<Answer>;
  readonly heading: (node: RedNode, answer: { code: string; reason?: string }) => string;
}

interface Planned {
  method: string;
  path: string;
  query?: unknown;
  body?: unknown;
}

/** The last message that the node saw, or a sample, and what it would send for that. */
export function openPreview(opening: PreviewOpening): void {
  const { node, place } = opening;
  place.empty().addClass('gateway-late');
  const words = $('<span>');
  const message = $('<textarea rows="5" spellcheck="false">');
  const other = $('<button type="button" class="red-ui-button">').hide();
  const button = $('<button type="button" class="red-ui-button">').text(node._('preview.show'));
  const result = $('<div class="gateway-difference" role="status" aria-live="polite">');
  const fill = (title: string, value: unknown): void => {
    words.text(title);
    message.val(JSON.stringify(value, null, 2));
    void show(opening, String(message.val()), result);
  };
  button.on('click', () => void show(opening, String(message.val()), result));
  place.append($('<label>').append(words, message), button, ' ', other, result);
  void opening.last().then((last) => {
    const sample = (): void => fill(node._('preview.sample'), opening.sample());
    if (!last.ok || last.message === undefined) {
      sample();
      return;
    }
    const { at } = last as { at?: number };
    fill(node._('preview.last', { time: new Date(Number(at)).toLocaleTimeString() }), last.message);
    other.text(node._('preview.other')).on('click', sample).show();
  });
  RED.tray.resize();
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
  } else tell(opening, result, answer);
  RED.tray.resize();
}

interface Told {
  operation: string;
  reads?: boolean;
  plan: Planned[];
  items: unknown[];
  total: number;
  summary?: string;
}

function tell({ node, body, label }: PreviewOpening, result: JQuery, answer: object): void {
  const { operation, reads, plan, items, total, summary } = answer as Told;
  // What a message chooses, or a variable, is told.
  if (!['op', ''].includes(String(body().operationType)))
    result.append($('<div>').text(node._('preview.operation', { name: label(operation) })));
  const what = reads ? (plan.length > 0 ? 'reads' : 'reads-several') : plan.length === 0 ? 'nothing' : 'would';
  result.append($('<b>').text(summary ?? ''), $('<div>').text(node._(`preview.${what}`)));
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
