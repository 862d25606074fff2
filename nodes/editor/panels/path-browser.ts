import type { ApiResult } from '../api';
import type { OpenedPanel, PanelOptions } from './types';
import { openCurrentComparison } from './compare-current';
import { ResourceForm } from './resource-form';
import { ResourceSearch, type ConfigurationLink } from './resource-search';
import { toPath, toProperty, createTemplateTag } from './path-segments';
import { renderMarkup } from '../text';

/** One resource in the tree. Its children are loaded when it is opened. */
interface TreeItem {
  label: string;
  icon: string;
  path: string;
  resource?: unknown;
  parent?: TreeItem;
  children?: (done: (items: TreeItem[]) => void, item: TreeItem) => void;
  treeList?: { expand(done?: () => void): void };
}

const ROOTS = { config: '/api/v1/configuration', request: '/api/v1' };

/** Shows the configuration tree on the left, the selected resource on the right, and its path on top. */
export function openPathBrowser(options: PanelOptions): OpenedPanel {
  const browser = new PathBrowser(options);
  browser.open();
  return browser;
}

class PathBrowser implements OpenedPanel {
  private readonly path = $('<input type="text" class="gateway-path">');
  private readonly crumbs = $('<div class="gateway-crumbs">');
  private readonly note = $('<div class="gateway-note">');
  private readonly tree = $('<div class="gateway-tree">');
  private readonly resource = $('<div class="gateway-resource" tabindex="0">');
  private readonly hits = $('<div class="gateway-hits">').hide();
  private readonly progress = $('<div class="gateway-note" role="status" aria-live="polite">');
  private readonly root: string;
  private readonly form: ResourceForm;
  private readonly index: ResourceSearch;
  private readonly answers = new Map<string, Promise<ApiResult>>();
  private searchText = '';
  private closeListener: () => void = () => undefined;
  private latestRequest = 0;

  constructor(private readonly options: PanelOptions) {
    this.root = options.node.type === 'gateway-request' ? ROOTS.request : ROOTS.config;
    this.form = new ResourceForm(options.node, this.resource, options.getBodyTarget() !== undefined);
    this.index = new ResourceSearch(
      (path) => this.read(path),
      (link, parent) => this.toTreePath(link, parent),
      () => this.showHits(),
    );
  }

  open(): void {
    const { node } = this.options;
    RED.tray.show({
      title: node._('tree.title'),
      width: 700,
      buttons: [
        { id: 'gateway-tree-cancel', text: node._('tree.cancel'), click: () => this.closeTray() },
        { id: 'gateway-tree-ok', text: node._('tree.use'), class: 'primary', click: () => this.applyPath() },
      ],
      open: (tray) => this.fill(tray.find('.red-ui-tray-body')),
      close: () => {
        this.index.stop();
        this.closeListener();
      },
      show: () => undefined,
    });
  }

  /** Does nothing, because the tray stays open until the user closes it. */
  close(): void {
    return undefined;
  }

  onClosed(listener: () => void): void {
    this.closeListener = listener;
  }

  private fill(body: JQuery): void {
    const { node, target } = this.options;
    const source = target.get();
    const search = $('<input type="text">').attr({ placeholder: node._('tree.search'), 'aria-label': node._('tree.search') });
    search.on('input', () => this.search(String(search.val())));
    this.path.attr('aria-label', node._('tree.path')).val(source?.type === 'str' ? source.value : '');
    this.path.on('input', () => this.drawCrumbs());
    this.resource.attr('aria-label', node._('tree.resource'));
    const left = $('<div class="gateway-tree-side">').append(search, this.progress, this.hits, this.tree);
    const panes = $('<div class="gateway-panes">').append(left, this.resource);
    $('<div class="gateway-panel gateway-browser">').append(this.path, this.crumbs, this.note, panes).appendTo(body);
    const root = this.createItem({ name: this.root, href: this.root }, '');
    this.tree.treeList({ data: [root] });
    this.tree.on('treelistselect', (_event, item) => void this.choose(item as TreeItem));
    root.treeList?.expand();
    this.drawCrumbs();
    this.showText(node._('tree.begin'));
  }

  private createItem({ name, href }: ConfigurationLink, parent: string): TreeItem {
    const path = toPath(href, name, parent, this.root);
    return {
      label: name,
      icon: 'fa fa-folder-o',
      path,
      children: (done, item) => void this.loadChildren(item).then(done),
    };
  }

  private async loadChildren(item: TreeItem): Promise<TreeItem[]> {
    const answer = await this.loadResource(item);
    if (!answer.ok) {
      this.showFailure(answer, item.path);
      return [];
    }
    return (answer.links as ConfigurationLink[]).map((link) => this.createItem(link, item.path));
  }

  private async loadResource(item: TreeItem): Promise<ApiResult> {
    const answer = await this.read(item.path);
    if (answer.ok) item.resource = answer.resource;
    return answer;
  }

  /** Reads a resource and its links once. A failed read is repeated. */
  private async read(path: string): Promise<ApiResult> {
    const root = this.root === ROOTS.request ? 'request' : 'config';
    const pending = this.answers.get(path) ?? this.options.post('read', { root, path: path === '' ? '/' : path });
    this.answers.set(path, pending);
    const answer = await pending;
    if (!answer.ok) this.answers.delete(path);
    return answer;
  }

  /** Returns the path of a link, or undefined if it leaves the tree. */
  private toTreePath({ name, href }: ConfigurationLink, parent: string): string | undefined {
    if (href !== null && !href.includes(`${this.root}/`)) return undefined;
    return toPath(href, name, parent, this.root);
  }

  private async choose(item: TreeItem): Promise<void> {
    const request = (this.latestRequest += 1);
    if (item.path !== '') this.path.val(item.path);
    this.drawCrumbs();
    // One click shows the content and the children.
    item.treeList?.expand();
    if (item.resource === undefined) {
      this.showText(this.options.node._('list.searching'));
      const answer = await this.loadResource(item);
      if (request !== this.latestRequest) return;
      if (!answer.ok) {
        this.showFailure(answer, item.path);
        return;
      }
    }
    // Content comes only from a deployed address.
    if (item.resource === undefined) {
      this.showText(this.options.node._('tree.undeployed'));
      return;
    }
    this.form.show(item.path, item.resource);
  }

  /** Whether the field supports tags. A list of paths does not. */
  private get canUseTags(): boolean {
    return this.options.field.kind === 'path';
  }

  /** Shows each path segment as a button that turns it into a tag and back. */
  private drawCrumbs(): void {
    const { node } = this.options;
    const text = String(this.path.val() ?? '');
    this.crumbs.empty();
    this.note.empty();
    if (text.startsWith('/') || !this.canUseTags) return;
    const parts = text.split('/').filter(Boolean);
    const explanations = parts.flatMap((part, index) => (part.startsWith('{{') ? [this.explainTag(parts, index)] : []));
    renderMarkup(this.note, explanations.length > 0 ? explanations.join(' ') : node._('tree.crumbs'));
    parts.forEach((part, index) => {
      const isTag = part.startsWith('{{');
      const button = $('<button type="button" class="red-ui-button red-ui-button-small">');
      button.text(isTag ? toProperty(part) : part).toggleClass('gateway-tag', isTag);
      button.attr({
        'aria-pressed': String(isTag),
        title: isTag ? node._('tree.to-name') : node._('tree.to-tag', { property: toProperty(createTemplateTag(parts, index)) }),
      });
      button.on('click', () => {
        const storedName = button.data('name') as string | undefined;
        parts[index] = isTag ? (this.originalNames.get(index) ?? storedName ?? part) : createTemplateTag(parts, index);
        if (!isTag) this.originalNames.set(index, part);
        this.path.val(parts.join('/'));
        this.drawCrumbs();
      });
      this.crumbs.append(button, index < parts.length - 1 ? $('<span>').text('/') : '');
    });
  }

  /** Describes in plain words what a tag stands for. */
  private explainTag(parts: readonly string[], index: number): string {
    const { node } = this.options;
    const collection = parts[index - 1];
    const property = toProperty(parts[index] ?? '');
    const example = this.originalNames.get(index);
    const text = collection === undefined ? node._('tree.variable-any', { property }) : node._('tree.variable', { collection, property });
    return example === undefined ? text : `${text} ${node._('tree.variable-example', { example })}`;
  }

  /** The names that were replaced by tags, by the position of their segment. */
  private readonly originalNames = new Map<number, string>();

  /** Searches names and values of the whole tree, which is read in the background. */
  private search(text: string): void {
    this.searchText = text.trim();
    if (this.searchText !== '') this.index.start();
    this.showHits();
  }

  private showHits(): void {
    const { node } = this.options;
    const isSearch = this.searchText !== '';
    this.hits.toggle(isSearch);
    this.tree.toggle(!isSearch);
    this.progress.text(
      !isSearch ? '' : node._(this.index.isComplete ? 'tree.searched' : 'tree.searching', { count: String(this.index.count) }),
    );
    if (!isSearch) return;
    const hits = this.index.find(this.searchText);
    const known = this.hits.children('button').length;
    // The list grows without moving an entry that the user is about to click.
    const isSame = this.hits.data('text') === this.searchText;
    const shown = isSame
      ? new Set(
          this.hits
            .children('button')
            .toArray()
            .map((one) => one.dataset.path),
        )
      : new Set<string>();
    if (!isSame || known === 0) this.hits.empty().data('text', this.searchText);
    for (const { path, field } of hits) {
      if (shown.has(path)) continue;
      const button = $('<button type="button" class="red-ui-button gateway-folder">').attr('data-path', path);
      button.append($('<span>').text(path), field === '' ? '' : $('<small>').text(field));
      button.on('click', () => void this.choose({ label: path, icon: '', path })).appendTo(this.hits);
    }
    if (hits.length === 0 && this.index.isComplete) this.hits.append($('<div class="gateway-note">').text(node._('tree.no-match')));
  }

  private showText(text: string): void {
    this.resource.empty().append($('<div class="gateway-note">').text(text));
  }

  private showFailure(answer: { code: string; reason?: string; message: string }, path: string): void {
    const { node, heading } = this.options;
    this.resource.empty().append($('<b>').text(heading(node, answer, 'tree', path)), renderMarkup($('<div>'), answer.message));
  }

  private applyPath(): void {
    const text = String(this.path.val() ?? '').trim();
    if (text !== '') this.options.target.set('str', text);
    const isKnown = text !== '' && !text.includes('{{');
    const { body } = this.form;
    // Shows the current values of the resource to change, after the form is back.
    this.closeTray(() => {
      const bodyTarget = this.options.getBodyTarget();
      if (body) bodyTarget?.set('json', JSON.stringify(body));
      if (bodyTarget && isKnown && (body !== undefined || bodyTarget.get() === undefined))
        openCurrentComparison({ ...this.options, target: bodyTarget });
    });
  }

  private closeTray(afterClose?: () => void): void {
    RED.tray.close(afterClose);
  }
}
