import type { Answer } from './asking';
import type { Opened, Opening } from './late';
import { prose } from './words';

interface Item {
  value: string;
  note?: string;
}
interface Found {
  entries: Item[];
  found: number;
  unknown: string[];
}

/** Somebody types on: the list is asked for once there is a pause. */
const PAUSE_MS = 150;
let lists = 0;

/** What was there when it was asked for last, by what was asked: shown until the answer comes. */
const before = new Map<string, Found>();
const MOST_BEFORE = 50;

/** What is on the appliance now, below the field; what stands in the field is the search. Anything else may be typed all the same. */
export function openList(opening: Opening): Opened {
  const question = (search: string) => ({ kind: opening.field.names, given: opening.given(), search });
  const keyOf = (search: string) => opening.asked && opening.asked + JSON.stringify(question(search));
  const fetch: Fetch = async (search, again) => {
    const answer = await opening.ask('list', { ...question(search), again, values: valuesOf(opening.row.get()) });
    if (!answer.ok) return answer;
    const found = answer as unknown as Found;
    const key = keyOf(search);
    if (before.size >= MOST_BEFORE) before.clear();
    // Which names in the field are gone is of that field.
    if (key !== undefined) before.set(key, { ...found, unknown: [] });
    return found;
  };
  return new DropDown(opening, fetch, { before: (search) => before.get(keyOf(search) ?? '') });
}

/** The names in a field: one, or those of a JSON array. */
function valuesOf(entry: ReturnType<Opening['row']['get']>): string[] {
  if (entry?.type === 'str') return entry.value === '' ? [] : [entry.value];
  const list = entry?.type === 'json' ? listIn(entry.value) : undefined;
  return (list ?? []).filter((one) => typeof one === 'string');
}

/** Values that the interface is known to take; the last entry says that others are possible. */
export function openKnown(opening: Opening): Opened {
  const entries = (opening.field.known ?? []).map((value) => ({ value }));
  return new DropDown(opening, () => Promise.resolve({ entries, found: entries.length, unknown: [] }), { other: true });
}

type Fetch = (search: string, again: boolean) => Promise<Found | Exclude<Answer, { ok: true }>>;

interface Ways {
  /** The last entry says that other values are possible. */
  readonly other?: true;
  readonly before?: (search: string) => Found | undefined;
}

class DropDown implements Opened {
  private readonly box: JQuery;
  private readonly panel = $('<div class="gateway-late gateway-list red-ui-editor-dialog">');
  private readonly status = $('<div class="gateway-list-note" role="status" aria-live="polite">');
  private readonly items = $('<div role="listbox">');
  private readonly id = `gateway-list-${(lists += 1)}`;
  /** What stood in the field when the list opened is no search. */
  private readonly first: string;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private latest = 0;
  private at = -1;
  private listener: () => void = () => undefined;

  constructor(
    private readonly opening: Opening,
    private readonly fetch: Fetch,
    private readonly ways: Ways,
  ) {
    this.box = opening.row.box;
    this.first = this.text();
    this.items.attr({ id: this.id, 'aria-label': opening.row.element.find('label').text().trim() });
    this.panel.append(this.items, this.status).appendTo(document.body);
    this.panel.on('mousedown', (event) => event.preventDefault());
    this.items.on('click', '[role="option"]', (event) => this.choose($(event.currentTarget as HTMLElement)));
    this.box
      .attr({ role: 'combobox', 'aria-expanded': 'true', 'aria-controls': this.id, 'aria-autocomplete': 'list' })
      .on('input.gateway-list', () => this.later())
      .on('keydown.gateway-list', (event) => this.key(event))
      .on('blur.gateway-list', () => this.close())
      .trigger('focus');
    // The form scrolls beneath it.
    window.addEventListener('scroll', this.place, true);
    window.addEventListener('resize', this.place);
    this.place();
    void this.show(false);
  }

  close(): void {
    if (!this.panel.parent().length) return;
    clearTimeout(this.timer);
    this.latest += 1;
    window.removeEventListener('scroll', this.place, true);
    window.removeEventListener('resize', this.place);
    this.box.off('.gateway-list').attr('aria-expanded', 'false').removeAttr('aria-activedescendant aria-controls');
    this.panel.remove();
    this.listener();
  }

  closed(listener: () => void): void {
    this.listener = listener;
  }

  private text(): string {
    const entry = this.opening.row.get();
    return entry?.type === 'str' ? entry.value : '';
  }

  private later(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.show(false), PAUSE_MS);
  }

  private async show(again: boolean): Promise<void> {
    const run = (this.latest += 1);
    const text = this.opening.row.box.is(':visible') ? String(this.box.val() ?? '') : '';
    const search = text === this.first || this.opening.row.get()?.type === 'json' ? '' : text;
    const before = again ? undefined : this.ways.before?.(search);
    if (before) this.fill(before, search);
    else if (this.items.children().length === 0) this.say(this.opening.node._('list.searching'));
    const answer = await this.fetch(this.ways.other ? '' : search, again);
    if (run !== this.latest) return;
    if ('ok' in answer && !answer.ok) this.fail(answer);
    // Somebody may be about to choose: what is the same stays where it is.
    else if (JSON.stringify(answer) !== JSON.stringify(before)) this.fill(answer as Found, search);
  }

  private fill({ entries, found, unknown }: Found, search: string): void {
    const { node } = this.opening;
    this.clear();
    entries.forEach(({ value, note }, index) => {
      const text = $('<span>').text(value);
      const more = note === undefined ? '' : $('<span class="gateway-list-more">').text(note);
      $('<div role="option" aria-selected="false">')
        .attr('id', `${this.id}-${index}`)
        .data('value', value)
        .append(text, more)
        .toggleClass('gateway-chosen', value === this.first)
        .appendTo(this.items);
    });
    if (this.ways.other)
      $('<div role="option" aria-selected="false">').attr('id', `${this.id}-other`).text(node._('list.other')).appendTo(this.items);
    const gone = unknown.length > 0 && search === '' ? node._('list.gone', { value: unknown.join(', ') }) : '';
    const count =
      entries.length === 0
        ? node._(search === '' ? 'list.none' : 'list.no-match')
        : found > entries.length
          ? node._('list.more', { shown: entries.length, found })
          : '';
    this.say(this.ways.other ? '' : [gone, count].filter(Boolean).join(' '));
    this.opening.row.element.toggleClass('gateway-gone', gone !== '');
    this.place();
  }

  private clear(): void {
    this.items.empty();
    this.at = -1;
    this.box.removeAttr('aria-activedescendant');
  }

  private fail(answer: { code: string; reason?: string; message: string }): void {
    const { node, heading } = this.opening;
    this.clear();
    const again = $('<button type="button" class="red-ui-button red-ui-button-small">').text(node._('list.again'));
    again.on('click', () => void this.show(true));
    this.status
      .empty()
      .append($('<b>').text(heading(node, answer)), prose($('<div>'), answer.message), again)
      .addClass('gateway-list-bad');
    this.place();
  }

  private say(text: string): void {
    this.status
      .removeClass('gateway-list-bad')
      .text(text)
      .toggle(text !== '');
  }

  private key(event: JQuery.TriggeredEvent): void {
    const options = this.items.children('[role="option"]');
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key ?? ''];
    if (step !== undefined && options.length > 0) {
      event.preventDefault();
      this.at = (this.at + step + options.length) % options.length;
      options.attr('aria-selected', 'false').removeClass('gateway-at');
      const now = options.eq(this.at).attr('aria-selected', 'true').addClass('gateway-at');
      this.box.attr('aria-activedescendant', now.attr('id') ?? '');
      now[0]?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter' && this.at >= 0) {
      event.preventDefault();
      this.choose(options.eq(this.at));
    } else if (event.key === 'Escape') {
      // It would close the whole dialog.
      event.stopPropagation();
      this.close();
    }
  }

  private choose(option: JQuery): void {
    const value: unknown = option.data('value');
    const { row } = this.opening;
    if (typeof value === 'string') {
      const several = row.get()?.type === 'json' ? listWith(row.get()?.value ?? '', value) : undefined;
      if (several === undefined) row.set('str', value);
      else row.set('json', several);
      row.element.removeClass('gateway-gone');
    }
    this.close();
    this.box.trigger('focus');
    if (typeof value !== 'string') this.box.trigger('select');
  }

  private readonly place = (): void => {
    const around = this.opening.row.element.find('.red-ui-typedInput-container')[0]?.getBoundingClientRect();
    if (!around) return;
    const above = window.innerHeight - around.bottom < 200 && around.top > 300;
    this.panel.css({
      left: around.left,
      width: around.width,
      ...(above ? { top: 'auto', bottom: window.innerHeight - around.top } : { top: around.bottom, bottom: 'auto' }),
    });
  };
}

/** A JSON array with one more in it; undefined for what is none. */
function listWith(json: string, value: string): string | undefined {
  const list = listIn(json || '[]');
  return list && JSON.stringify([...list.filter((one) => one !== value), value]);
}

function listIn(json: string): unknown[] | undefined {
  try {
    const list = JSON.parse(json) as unknown;
    return Array.isArray(list) ? list : undefined;
  } catch {
    return undefined;
  }
}
