import type { ApiResult } from '../api';
import type { OpenedPanel, PanelOptions } from './types';
import { formatPlural, renderMarkup } from '../text';

interface LookupItem {
  value: string;
  note?: string;
  /** How many sessions have the value. */
  sessions?: number;
}
interface LookupResult {
  entries: LookupItem[];
  found: number;
  unknown: string[];
}

/** The search starts after this pause in typing. */
const PAUSE_MS = 150;
/** Minimum width of the list, which can be wider than its input. */
const MIN_WIDTH = 260;
let dropDownCount = 0;

/** Latest results by query. They are shown until the response to a new query arrives. */
const cachedResults = new Map<string, LookupResult>();
const MAX_CACHED_RESULTS = 50;

/** Lists objects of the appliance below a field. The text of the field is the search text; other values stay possible. */
export function openValuePicker(options: PanelOptions): OpenedPanel {
  const toQuery = (search: string) => ({ kind: options.field.names, given: options.getLiteralTexts(), search });
  const toCacheKey = (search: string) => options.applianceKey && options.applianceKey + JSON.stringify(toQuery(search));
  const fetchItems: FetchItems = async (search, isRetry) => {
    const answer = await options.post('list', { ...toQuery(search), again: isRetry, values: readFieldValues(options.target.get()) });
    if (!answer.ok) return answer;
    const result = answer as unknown as LookupResult;
    const key = toCacheKey(search);
    if (cachedResults.size >= MAX_CACHED_RESULTS) cachedResults.clear();
    // Missing names belong to one field, so they are not cached.
    if (key !== undefined) cachedResults.set(key, { ...result, unknown: [] });
    return result;
  };
  const hasFirstPage = ['session', 'session-user'].includes(options.field.names ?? '');
  const fetchFirst = async (): Promise<LookupResult | undefined> => {
    const answer = await options.post('list', { ...toQuery(''), first: true, values: [] });
    return answer.ok ? (answer as unknown as LookupResult) : undefined;
  };
  return new DropDown(options, fetchItems, {
    getCached: (search) => cachedResults.get(toCacheKey(search) ?? ''),
    ...(hasFirstPage && { fetchFirst }),
  });
}

/** Returns the name in a field, or the names of a JSON array. */
function readFieldValues(source: ReturnType<PanelOptions['target']['get']>): string[] {
  if (source?.type === 'str') return source.value === '' ? [] : [source.value];
  const list = source?.type === 'json' ? parseList(source.value) : undefined;
  return (list ?? []).filter((one) => typeof one === 'string');
}

/** Lists known values of the interface. The last entry says that others are possible. */
export function openKnownValueList(options: PanelOptions): OpenedPanel {
  const entries = (options.field.known ?? []).map((value) => ({ value }));
  return new DropDown(options, () => Promise.resolve({ entries, found: entries.length, unknown: [] }), { hasOtherEntry: true });
}

type FetchItems = (search: string, isRetry: boolean) => Promise<LookupResult | Exclude<ApiResult, { ok: true }>>;

interface DropDownBehavior {
  /** Whether the last entry says that other values are possible. */
  readonly hasOtherEntry?: true;
  readonly getCached?: (search: string) => LookupResult | undefined;
  /** Fetches the first entries of a long list, which are available before the whole list. */
  readonly fetchFirst?: () => Promise<LookupResult | undefined>;
}

class DropDown implements OpenedPanel {
  private readonly textBox: JQuery;
  private readonly panel = $('<div class="gateway-panel gateway-list red-ui-editor-dialog">');
  private readonly status = $('<div class="gateway-list-note" role="status" aria-live="polite">');
  private readonly items = $('<div role="listbox">');
  private readonly id = `gateway-list-${(dropDownCount += 1)}`;
  /** The text of the field when the list opened. It is not used as a search text. */
  private readonly initialText: string;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private latestRequest = 0;
  private activeIndex = -1;
  private closeListener: () => void = () => undefined;

  constructor(
    private readonly options: PanelOptions,
    private readonly fetchItems: FetchItems,
    private readonly behavior: DropDownBehavior,
  ) {
    this.textBox = options.target.textBox;
    this.initialText = this.readText();
    this.items.attr({ id: this.id, 'aria-label': this.readLabel() });
    this.panel.append(this.items, this.status).appendTo(document.body);
    this.panel.on('mousedown', (event) => event.preventDefault());
    this.items.on('click', '[role="option"]', (event) => this.choose($(event.currentTarget as HTMLElement)));
    this.textBox
      .attr({ role: 'combobox', 'aria-expanded': 'true', 'aria-controls': this.id, 'aria-autocomplete': 'list' })
      .on('input.gateway-list', () => this.scheduleSearch())
      .on('keydown.gateway-list', (event) => this.handleKey(event))
      .on('blur.gateway-list', () => this.close())
      .trigger('focus');
    // The list must follow its field when the form scrolls.
    window.addEventListener('scroll', this.updatePosition, true);
    window.addEventListener('resize', this.updatePosition);
    this.updatePosition();
    void this.showItems(false);
  }

  close(): void {
    if (!this.panel.parent().length) return;
    clearTimeout(this.timer);
    this.latestRequest += 1;
    window.removeEventListener('scroll', this.updatePosition, true);
    window.removeEventListener('resize', this.updatePosition);
    this.textBox.off('.gateway-list').attr('aria-expanded', 'false').removeAttr('aria-activedescendant aria-controls');
    this.panel.remove();
    this.closeListener();
  }

  onClosed(listener: () => void): void {
    this.closeListener = listener;
  }

  private readText(): string {
    const entry = this.options.target.get();
    return entry?.type === 'str' ? entry.value : '';
  }

  private readSearch(): string {
    const { target } = this.options;
    if (target.getSearch) return target.getSearch();
    const text = target.textBox.is(':visible') ? String(this.textBox.val() ?? '') : '';
    return text === this.initialText || target.get()?.type === 'json' ? '' : text;
  }

  private scheduleSearch(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.showItems(false), PAUSE_MS);
  }

  private async showItems(isRetry: boolean): Promise<void> {
    const request = (this.latestRequest += 1);
    const search = this.readSearch();
    const cached = isRetry ? undefined : this.behavior.getCached?.(search);
    if (cached) this.fillItems(cached, search);
    else {
      // An old list stays until the new one is there.
      this.showStatus(this.options.node._('list.searching'));
      // Not at the same time: all pages together would delay the first.
      if (this.items.children().length === 0 && search === '') await this.showFirstItems(request);
    }
    if (request !== this.latestRequest) return;
    const answer = await this.fetchItems(this.behavior.hasOtherEntry ? '' : search, isRetry);
    if (request !== this.latestRequest) return;
    if ('ok' in answer && !answer.ok) this.showFailure(answer);
    // Redraws only on a difference, because the user may be about to click an entry.
    else if (JSON.stringify(answer) !== JSON.stringify(cached)) this.fillItems(answer as LookupResult, search);
  }

  private async showFirstItems(request: number): Promise<void> {
    const result = await this.behavior.fetchFirst?.();
    if (!result || result.entries.length === 0 || request !== this.latestRequest) return;
    this.fillItems(result, '');
    this.showStatus(this.options.node._('list.searching'));
  }

  private fillItems({ entries, found, unknown }: LookupResult, search: string): void {
    const { node } = this.options;
    this.clear();
    entries.forEach(({ value, note, sessions }, index) => {
      const text = $('<span>').text(value);
      const noteText = sessions === undefined ? note : formatPlural(node, 'list.sessions', sessions);
      const noteElement = noteText === undefined ? '' : $('<span class="gateway-list-more">').text(noteText);
      $('<div role="option" aria-selected="false">')
        .attr('id', `${this.id}-${index}`)
        .data('value', value)
        .append(text, noteElement)
        .toggleClass('gateway-chosen', value === this.initialText)
        .appendTo(this.items);
    });
    if (this.behavior.hasOtherEntry)
      $('<div role="option" aria-selected="false">').attr('id', `${this.id}-other`).text(node._('list.other')).appendTo(this.items);
    const missingText = unknown.length > 0 && search === '' ? node._('list.gone', { value: unknown.join(', ') }) : '';
    const countText =
      entries.length === 0
        ? node._(search === '' ? 'list.none' : 'list.no-match')
        : found > entries.length
          ? node._('list.more', { shown: entries.length, found })
          : '';
    this.showStatus(this.behavior.hasOtherEntry ? '' : [missingText, countText].filter(Boolean).join(' '));
    this.options.target.element.toggleClass('gateway-gone', missingText !== '');
    this.updatePosition();
  }

  private clear(): void {
    this.items.empty();
    this.activeIndex = -1;
    this.textBox.removeAttr('aria-activedescendant');
  }

  private showFailure(answer: { code: string; reason?: string; message: string }): void {
    const { node, heading } = this.options;
    this.clear();
    const retryButton = $('<button type="button" class="red-ui-button red-ui-button-small">').text(node._('list.again'));
    retryButton.on('click', () => void this.showItems(true));
    this.status
      .empty()
      .append(
        $('<b>').text(this.findMissingFieldText(answer) ?? heading(node, answer, 'list', this.readLabel())),
        renderMarkup($('<div>'), answer.message),
        retryButton,
      )
      .addClass('gateway-list-bad');
    this.updatePosition();
  }

  /** Replaces the field name of the runtime with the label that the user knows. */
  private findMissingFieldText({ code, message }: { code: string; message: string }): string | undefined {
    const [, name = ''] = (code === 'BAD_INPUT' && /needs a value for ([\w-]+)/.exec(message)) || [];
    const field = this.options.getFieldLabel(name);
    return field && this.options.node._('list.first', { field });
  }

  private readLabel(): string {
    const { title, element } = this.options.target;
    return title ?? element.find('label span').contents().first().text().trim();
  }

  private showStatus(text: string): void {
    this.status
      .removeClass('gateway-list-bad')
      .text(text)
      .toggle(text !== '');
  }

  private handleKey(event: JQuery.TriggeredEvent): void {
    const options = this.items.children('[role="option"]');
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key ?? ''];
    if (step !== undefined && options.length > 0) {
      event.preventDefault();
      this.activeIndex = (this.activeIndex + step + options.length) % options.length;
      options.attr('aria-selected', 'false').removeClass('gateway-at');
      const activeOption = options.eq(this.activeIndex).attr('aria-selected', 'true').addClass('gateway-at');
      this.textBox.attr('aria-activedescendant', activeOption.attr('id') ?? '');
      activeOption[0]?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter' && this.activeIndex >= 0) {
      event.preventDefault();
      this.choose(options.eq(this.activeIndex));
    } else if (event.key === 'Escape') {
      // Escape would also close the dialog.
      event.stopPropagation();
      this.close();
    }
  }

  private choose(option: JQuery): void {
    const value: unknown = option.data('value');
    const { target } = this.options;
    if (typeof value === 'string') {
      const extendedList = target.get()?.type === 'json' ? addToList(target.get()?.value ?? '', value) : undefined;
      if (extendedList === undefined) target.set('str', value);
      else target.set('json', extendedList);
      target.element.removeClass('gateway-gone');
    }
    this.close();
    this.textBox.trigger('focus');
    if (typeof value !== 'string') this.textBox.trigger('select');
  }

  private readonly updatePosition = (): void => {
    const anchor = (this.options.target.element.find('.red-ui-typedInput-container')[0] ?? this.textBox[0])?.getBoundingClientRect();
    if (!anchor) return;
    const isAbove = window.innerHeight - anchor.bottom < 200 && anchor.top > 300;
    const width = Math.max(anchor.width, MIN_WIDTH);
    this.panel.css({
      left: Math.max(0, Math.min(anchor.left, window.innerWidth - width)),
      width,
      ...(isAbove ? { top: 'auto', bottom: window.innerHeight - anchor.top } : { top: anchor.bottom, bottom: 'auto' }),
    });
  };
}

/** Adds a value to a JSON array. Returns undefined if the text is not an array. */
function addToList(json: string, value: string): string | undefined {
  const list = parseList(json || '[]');
  return list && JSON.stringify([...list.filter((one) => one !== value), value]);
}

function parseList(json: string): unknown[] | undefined {
  try {
    const list = JSON.parse(json) as unknown;
    return Array.isArray(list) ? list : undefined;
  } catch {
    return undefined;
  }
}
