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

/** What is on the appliance now, below the field; what stands in the field is the search. Anything else may be typed all the same. */
export function openList(opening: Opening): Opened {
  return new DropDown(opening, async (search, again) => {
    const entry = opening.row.get();
    const values = entry?.type === 'str' && entry.value !== '' ? [entry.value] : [];
    const answer = await opening.ask('list', { kind: opening.field.names, given: opening.given(), search, again, values });
    return answer.ok ? (answer as unknown as Found) : answer;
  });
}

/** Values that the interface is known to take; the last entry says that others are possible. */
export function openKnown(opening: Opening): Opened {
  const entries = (opening.field.known ?? []).map((value) => ({ value }));
  return new DropDown(opening, () => Promise.resolve({ entries, found: entries.length, unknown: [] }), true);
}

type Fetch = (search: string, again: boolean) => Promise<Found | Exclude<Answer, { ok: true }>>;

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
    private readonly other = false,
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
    if (this.items.children().length === 0) this.say(this.opening.node._('list.searching'));
    const answer = await this.fetch(this.other ? '' : search, again);
    if (run !== this.latest) return;
    this.items.empty();
    this.at = -1;
    if ('ok' in answer && !answer.ok) this.fail(answer);
    else this.fill(answer as Found, search);
    this.place();
  }

  private fill({ entries, found, unknown }: Found, search: string): void {
    const { node } = this.opening;
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
    if (this.other)
      $('<div role="option" aria-selected="false">').attr('id', `${this.id}-other`).text(node._('list.other')).appendTo(this.items);
    const gone = unknown.length > 0 && search === '' ? node._('list.gone', { value: unknown.join(', ') }) : '';
    const count =
      entries.length === 0
        ? node._(search === '' ? 'list.none' : 'list.no-match')
        : found > entries.length
          ? node._('list.more', { shown: entries.length, found })
          : '';
    this.say(this.other ? '' : [gone, count].filter(Boolean).join(' '));
    this.opening.row.element.toggleClass('gateway-gone', gone !== '');
  }

  private fail(answer: { code: string; reason?: string; message: string }): void {
    const { node, heading } = this.opening;
    const again = $('<button type="button" class="red-ui-button red-ui-button-small">').text(node._('list.again'));
    again.on('click', () => void this.show(true));
    this.status
      .empty()
      .append($('<b>').text(heading(node, answer)), prose($('<div>'), answer.message), again)
      .addClass('gateway-list-bad');
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
  try {
    const list = JSON.parse(json || '[]') as unknown;
    return Array.isArray(list) ? JSON.stringify([...(list as unknown[]).filter((one) => one !== value), value]) : undefined;
  } catch {
    return undefined;
  }
}
