import { openMessagePanel } from './message-panel';
import { toResultTable } from './result-table';
import type { PreviewOptions } from './types';
import { formatPlural } from '../text';

interface TryAnswer {
  readonly operation: string;
  readonly ms: number;
  readonly data?: unknown;
  readonly total?: number;
  readonly bytes?: number;
}

/** Runs a read as the dialog describes it and shows its data as a table. The JSON is one click away. */
export function openTryNowPanel(options: PreviewOptions): void {
  const render = (result: JQuery, answer: object): void => renderAnswer(options, result, answer as TryAnswer);
  openMessagePanel(options, {
    again: options.node._('try.button'),
    titles: { sample: 'try.sample', last: 'try.last' },
    needsMessage: true,
    render,
  });
}

function renderAnswer(options: PreviewOptions, result: JQuery, answer: TryAnswer): void {
  const { node } = options;
  const { data, bytes } = answer;
  const isShown = bytes === undefined;
  const verdict = $('<b class="gateway-verdict">').text(createVerdict(options, answer));
  const head = $('<div class="gateway-try-head">').append(verdict).appendTo(result);
  if (!isShown || isEmpty(data)) return;
  const table = renderTable(data);
  const json = $('<pre tabindex="0">')
    .text(JSON.stringify(data, null, 2))
    .hide();
  const toggle = $('<button type="button" class="red-ui-button red-ui-button-small gateway-try-json" aria-pressed="false">').text('JSON');
  toggle.attr('title', node._('try.json')).on('click', () => {
    const isJson = toggle.attr('aria-pressed') !== 'true';
    toggle.attr('aria-pressed', String(isJson)).toggleClass('selected', isJson);
    json.toggle(isJson);
    table.toggle(!isJson);
    RED.tray.resize();
  });
  head.append(toggle);
  $('<div class="gateway-try-result" tabindex="0" role="region">')
    .attr('aria-label', node._('try.result'))
    .append(table, json)
    .appendTo(result);
}

const isEmpty = (data: unknown): boolean => data === undefined || data === null || (Array.isArray(data) && data.length === 0);

function createVerdict({ node, label }: PreviewOptions, { operation, ms, data, total, bytes }: TryAnswer): string {
  const title = label(operation);
  const seconds = (ms / 1000).toLocaleString(undefined, { maximumFractionDigits: ms < 1000 ? 2 : 1 });
  if (bytes !== undefined) return node._('try.large', { title, size: Math.ceil(bytes / 1000), seconds });
  if (total === undefined) return node._('try.done', { title, seconds });
  const shown = Array.isArray(data) ? data.length : 0;
  const part = shown < total ? ` ${node._('try.part', { shown })}` : '';
  return formatPlural(node, 'try.entries', total, { title, seconds }) + part;
}

function renderTable(data: unknown): JQuery {
  const { columns, rows } = toResultTable(data);
  const table = $('<table class="gateway-table">');
  if (columns.length > 0)
    $('<thead>')
      .append($('<tr>').append(columns.map((name) => $('<th scope="col">').text(name))))
      .appendTo(table);
  const body = $('<tbody>').appendTo(table);
  for (const row of rows) {
    // The first cell of an object is the name of the value beside it.
    const isPair = columns.length === 0 && row.length === 2;
    body.append($('<tr>').append(row.map((text, index) => $(isPair && index === 0 ? '<th scope="row">' : '<td>').text(text))));
  }
  return table;
}
