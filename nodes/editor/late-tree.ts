import type { Answer } from './asking';
import type { Opened, Opening } from './late';
import { openCurrent } from './late-current';
import { prose } from './words';

interface Link {
  name: string;
  href: string | null;
}

/** One resource in the tree; those below are fetched when it is opened. */
interface Item {
  label: string;
  icon: string;
  path: string;
  resource?: unknown;
  answer?: Promise<Answer> | undefined;
  parent?: Item;
  children?: (done: (items: Item[]) => void, item: Item) => void;
  treeList?: { expand(done?: () => void): void };
}

const ROOTS = { config: '/api/v1/configuration', request: '/api/v1' };

/** The tree of the appliance in a tray of its own: level by level on the left, the chosen resource on the right, its path on top. */
export function openTree(opening: Opening): Opened {
  const browser = new Browser(opening);
  browser.open();
  return browser;
}

class Browser implements Opened {
  private readonly path = $('<input type="text" class="gateway-path">');
  private readonly crumbs = $('<div class="gateway-crumbs">');
  private readonly tree = $('<div class="gateway-tree">');
  private readonly resource = $('<div class="gateway-resource" tabindex="0">');
  private readonly root: string;
  private listener: () => void = () => undefined;
  private latest = 0;

  constructor(private readonly opening: Opening) {
    this.root = opening.node.type === 'gateway-request' ? ROOTS.request : ROOTS.config;
  }

  open(): void {
    const { node } = this.opening;
    RED.tray.show({
      title: node._('tree.title'),
      width: 700,
      buttons: [
        { id: 'gateway-tree-cancel', text: node._('tree.cancel'), click: () => this.leave() },
        { id: 'gateway-tree-ok', text: node._('tree.use'), class: 'primary', click: () => this.use() },
      ],
      open: (tray) => this.fill(tray.find('.red-ui-tray-body')),
      close: () => this.listener(),
      show: () => undefined,
    });
  }

  /** The tray stays until somebody leaves it. */
  close(): void {
    return undefined;
  }

  closed(listener: () => void): void {
    this.listener = listener;
  }

  private fill(body: JQuery): void {
    const { node, row } = this.opening;
    const entry = row.get();
    const search = $('<input type="text">').attr({ placeholder: node._('tree.search'), 'aria-label': node._('tree.search') });
    search.on('input', () => this.search(String(search.val())));
    this.path.attr('aria-label', node._('tree.path')).val(entry?.type === 'str' ? entry.value : '');
    this.path.on('input', () => this.drawCrumbs());
    this.resource.attr('aria-label', node._('tree.resource'));
    const left = $('<div class="gateway-tree-side">').append(search, this.tree);
    const panes = $('<div class="gateway-panes">').append(left, this.resource);
    const note = $('<div class="gateway-note">').text(this.takesTags ? node._('tree.crumbs') : '');
    $('<div class="gateway-late gateway-browser">').append(this.path, this.crumbs, note, panes).appendTo(body);
    const root = this.item({ name: this.root, href: this.root }, '');
    this.tree.treeList({ data: [root] });
    this.tree.on('treelistselect', (_event, item) => void this.choose(item as Item));
    root.treeList?.expand();
    this.drawCrumbs();
    this.say(node._('tree.begin'));
  }

  private item({ name, href }: Link, parent: string): Item {
    const path = pathOf(href, name, parent, this.root);
    return {
      label: name,
      icon: 'fa fa-folder-o',
      path,
      children: (done, item) => void this.below(item).then(done),
    };
  }

  private async below(item: Item): Promise<Item[]> {
    const answer = await this.read(item);
    if (!answer.ok) {
      this.fail(answer);
      return [];
    }
    return (answer.links as Link[]).map((link) => this.item(link, item.path));
  }

  /** Once for the resource and what is below it; again where that failed. */
  private async read(item: Item): Promise<Answer> {
    const root = this.root === ROOTS.request ? 'request' : 'config';
    item.answer ??= this.opening.ask('read', { root, path: item.path === '' ? '/' : item.path });
    const answer = await item.answer;
    if (answer.ok) item.resource = answer.resource;
    else item.answer = undefined;
    return answer;
  }

  private async choose(item: Item): Promise<void> {
    const run = (this.latest += 1);
    if (item.path !== '') this.path.val(item.path);
    this.drawCrumbs();
    // One click shows what it holds and what is below it.
    item.treeList?.expand();
    if (item.resource === undefined) {
      this.say(this.opening.node._('list.searching'));
      const answer = await this.read(item);
      if (run !== this.latest) return;
      if (!answer.ok) {
        this.fail(answer);
        return;
      }
    }
    this.resource.empty().append(
      $('<pre>')
        .attr('data-path', item.path)
        .text(JSON.stringify(item.resource, null, 2)),
    );
  }

  /** A list of paths does not. */
  private get takesTags(): boolean {
    return this.opening.field.kind === 'path';
  }

  /** Every name of the path is a button that makes a tag of it, and back. */
  private drawCrumbs(): void {
    const text = String(this.path.val() ?? '');
    this.crumbs.empty();
    if (text.startsWith('/') || !this.takesTags) return;
    const parts = text.split('/').filter(Boolean);
    parts.forEach((part, index) => {
      const tag = part.startsWith('{{');
      const button = $('<button type="button" class="red-ui-button red-ui-button-small">').text(part).toggleClass('gateway-tag', tag);
      button.attr({
        'aria-pressed': String(tag),
        title: tag
          ? this.opening.node._('tree.to-name')
          : this.opening.node._('tree.to-tag', { property: `msg.${tagFor(parts, index).slice(2, -2)}` }),
      });
      button.on('click', () => {
        const before = button.data('name') as string | undefined;
        parts[index] = tag ? (this.names.get(index) ?? before ?? part) : tagFor(parts, index);
        if (!tag) this.names.set(index, part);
        this.path.val(parts.join('/'));
        this.drawCrumbs();
      });
      this.crumbs.append(button, index < parts.length - 1 ? $('<span>').text('/') : '');
    });
  }

  /** What stood where a tag stands now. */
  private readonly names = new Map<number, string>();

  /** Within what was opened: names, and what the resources hold. */
  private search(text: string): void {
    const wanted = text.trim().toLowerCase();
    const holds = (item: Item): boolean =>
      wanted === '' ||
      item.label.toLowerCase().includes(wanted) ||
      (item.resource !== undefined && JSON.stringify(item.resource).toLowerCase().includes(wanted));
    this.tree.treeList('filter', wanted === '' ? null : (item: Item) => holds(item));
  }

  private say(text: string): void {
    this.resource.empty().append($('<div class="gateway-note">').text(text));
  }

  private fail(answer: { code: string; reason?: string; message: string }): void {
    const { node, heading } = this.opening;
    this.resource.empty().append($('<b>').text(heading(node, answer)), prose($('<div>'), answer.message));
  }

  private use(): void {
    const text = String(this.path.val() ?? '').trim();
    if (text !== '') this.opening.row.set('str', text);
    const isKnown = text !== '' && !text.includes('{{');
    // Who chose what to change wants to see what is there. The form is there again by then.
    this.leave(() => {
      const body = this.opening.body();
      if (body && isKnown && body.get() === undefined) openCurrent({ ...this.opening, row: body });
    });
  }

  private leave(then?: () => void): void {
    RED.tray.close(then);
  }
}

/** The last name of a path is what it is about; those before it are called after their collections. No two are alike. */
function tagFor(parts: readonly string[], index: number): string {
  const collection = (parts[index - 1] ?? '').replace(/[^a-z0-9]+(.)?/gi, (_, next: string = '') => next.toUpperCase());
  const name = index === parts.length - 1 || !/^[a-z]/i.test(collection) ? 'name' : collection;
  const tags = [name, ...parts.map((_, at) => `${name}${at + 2}`)].map((one) => `{{payload.${one}}}`);
  return tags.find((tag) => !parts.includes(tag)) ?? '{{payload.name}}';
}

/** As a person writes it where that means the same; of a name with a slash in it, as the appliance encodes it. */
function pathOf(href: string | null, name: string, parent: string, root: string): string {
  if (href === root) return '';
  const at = href?.indexOf(`${root}/`) ?? -1;
  if (href === null || at < 0) return `${parent}${parent === '' ? '' : '/'}${encodeURIComponent(name)}`;
  return href
    .slice(at + root.length + 1)
    .split('/')
    .map(readable)
    .join('/');
}

function readable(segment: string): string {
  try {
    const name = decodeURIComponent(segment);
    return /[/%?#\\{}]/.test(name) ? segment : name;
  } catch {
    return segment;
  }
}
