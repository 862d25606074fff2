import { renderMarkup } from '../text';
import type { PreviewOptions } from './types';

interface MessagePanelBehavior {
  /** Label of the button that runs it again. */
  readonly again: string;
  /** Keys of the titles of the message. */
  readonly titles: { readonly sample: string; readonly last: string };
  /** Whether the panel waits for the button if its only message is a sample, because the values of a sample are made up. */
  readonly needsMessage?: true;
  /** Shows a successful answer of the route. */
  readonly render: (result: JQuery, answer: object) => void;
}

/** Sends the dialog with the last message of the node, or with a sample. The result comes first, next to the button. */
export function openMessagePanel(options: PreviewOptions, { again, titles, needsMessage, render }: MessagePanelBehavior): void {
  const { node, container } = options;
  container.empty().addClass('gateway-panel');
  const result = $('<div class="gateway-difference" role="status" aria-live="polite">').text(node._('list.searching'));
  const summary = $('<summary>');
  const message = $('<textarea rows="5" spellcheck="false">').attr('aria-label', node._('preview.message'));
  const sampleButton = $('<button type="button" class="red-ui-button red-ui-button-small">').hide();
  const button = $('<button type="button" class="red-ui-button red-ui-button-small">').text(again);
  const sample = options.createSample();
  const isNeeded = hasFieldValues(sample);
  // A message that supplies no field needs no attention.
  const messageFold = $('<details class="gateway-fold gateway-preview-message">').prop('open', isNeeded);
  const send = (): void => void showAnswer(options, String(message.val()), result, render);
  const fill = (title: string, value: unknown, waits: boolean): void => {
    summary.text(title);
    message.val(JSON.stringify(value, null, 2));
    if (!waits) send();
    else result.text(node._('try.needs-message'));
    reveal(container);
  };
  button.on('click', send);
  container.append(result, messageFold.append(summary, message, button, ' ', sampleButton));
  reveal(container);
  void options.fetchLastMessage().then((last) => {
    const showSample = (): void => fill(node._(titles.sample), sample, needsMessage === true && isNeeded);
    if (!last.ok || last.message === undefined) {
      showSample();
      return;
    }
    const { at } = last as { at?: number };
    fill(node._(titles.last, { time: new Date(Number(at)).toLocaleTimeString() }), last.message, false);
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

async function showAnswer(options: PreviewOptions, text: string, result: JQuery, render: MessagePanelBehavior['render']): Promise<void> {
  const { node } = options;
  const message = parseMessage(text);
  if (!message) {
    result.text(node._('preview.no-json'));
    return;
  }
  result.text(node._('list.searching'));
  const answer = await options.post({ ...options.body(), message });
  result.empty();
  if (answer.ok) render(result, answer);
  else result.append($('<b>').text(options.heading(node, answer)), renderMarkup($('<div>'), answer.message));
  reveal(options.container);
}

function parseMessage(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
