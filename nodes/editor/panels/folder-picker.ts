import { parseVariableReference } from '../../common/rules';
import type { ApiResult } from '../api';
import type { FolderCheckOptions, OpenedPanel, PanelOptions } from './types';

/** The answer of the route `folders`. */
interface FolderListing {
  readonly state: 'none' | 'writable' | 'read-only' | 'missing' | 'no-folder' | 'outside';
  readonly root: string;
  readonly path: string;
  readonly names: readonly string[];
  readonly folders: readonly string[];
  readonly separator: string;
}

/** The check starts after this pause in typing. */
const CHECK_PAUSE_MS = 400;

/** Browses the folders below the user directory of Node-RED. Each step writes the path into the field. */
export function openFolderPicker(options: PanelOptions): OpenedPanel {
  const picker = new FolderPicker(options);
  void picker.show(readPath(options) ?? '', false);
  return picker;
}

class FolderPicker implements OpenedPanel {
  private readonly panel = $('<div class="gateway-panel gateway-folders" role="group">');
  private readonly crumbs = $('<div class="gateway-crumbs">');
  private readonly list = $('<div class="gateway-folder-list">');
  private readonly status = $('<div class="gateway-note" role="status" aria-live="polite">');
  private readonly name = $('<input type="text">');
  private current = '';
  private closeListener: () => void = () => undefined;

  constructor(private readonly options: PanelOptions) {
    const { node, target } = options;
    this.panel.attr('aria-label', node._('tool.folder'));
    this.name.attr({ placeholder: node._('folder.name'), 'aria-label': node._('folder.name') });
    const create = $('<button type="button" class="red-ui-button red-ui-button-small">').text(node._('folder.create'));
    const start = (): void => void this.create(String(this.name.val()).trim());
    create.on('click', start);
    this.name.on('keydown', (event) => {
      if (event.key !== 'Enter') return;
      event.preventDefault();
      start();
    });
    this.panel.append(this.crumbs, this.list, $('<div class="gateway-folder-new">').append(this.name, create), this.status);
    target.element.find('.gateway-input').after(this.panel);
  }

  close(): void {
    this.panel.remove();
    RED.tray.resize();
    this.closeListener();
  }

  onClosed(listener: () => void): void {
    this.closeListener = listener;
  }

  /** Lists a folder, and enters it into the field if the user chose it. */
  async show(path: string, isChosen: boolean): Promise<void> {
    this.apply(await this.options.postLocal('folders', { path }), isChosen);
  }

  private async create(name: string): Promise<void> {
    if (name === '') {
      this.name.trigger('focus');
      return;
    }
    const answer = await this.options.postLocal('folders', { path: this.current, create: name });
    if (answer.ok) this.name.val('');
    this.apply(answer, true);
  }

  private apply(answer: ApiResult, isChosen: boolean): void {
    this.status.text(answer.ok ? '' : answer.message);
    if (!answer.ok) return;
    const listing = answer as unknown as FolderListing;
    this.current = listing.path;
    if (isChosen) this.options.target.set('str', listing.path);
    this.draw(listing);
    RED.tray.resize();
  }

  private draw({ root, names, folders, separator }: FolderListing): void {
    const { node } = this.options;
    const hadFocus = this.panel.find(':focus').length > 0 && !this.name.is(':focus');
    this.crumbs.empty();
    [node._('folder.root'), ...names].forEach((name, index) => {
      const path = [root, ...names.slice(0, index)].join(separator);
      const button = $('<button type="button" class="red-ui-button red-ui-button-small">').text(name).attr('title', path);
      this.crumbs.append(
        index > 0 ? $('<span>').text('/') : '',
        button.on('click', () => void this.show(path, true)),
      );
    });
    this.list.empty();
    for (const name of folders) {
      const button = $('<button type="button" class="red-ui-button gateway-folder">').append(
        $('<i class="fa fa-folder-o" aria-hidden="true">'),
        ' ',
        $('<span>').text(name),
      );
      button.on('click', () => void this.show(`${[root, ...names, name].join(separator)}`, true)).appendTo(this.list);
    }
    if (folders.length === 0) this.list.append($('<div class="gateway-note">').text(node._('folder.none')));
    if (hadFocus) this.list.find('button').add(this.crumbs.find('button').last()).first().trigger('focus');
  }
}

/** Shows below the field whether Node-RED can use its folder. */
export function showFolderState(options: FolderCheckOptions): void {
  const { target, postLocal } = options;
  let place = target.element.find('.gateway-folder-state');
  if (place.length === 0) {
    place = $('<div class="gateway-note gateway-folder-state" role="status" aria-live="polite">');
    target.element.find('.gateway-error').before(place);
  }
  const asked = readPath(options) ?? '';
  if (place.data('path') === asked) return;
  place.data('path', asked);
  clearTimeout(place.data('timer') as number | undefined);
  if (asked === '') {
    place.empty();
    return;
  }
  const check = async (): Promise<void> => {
    const answer = await postLocal('folders', { path: asked });
    if (place.data('path') !== asked) return;
    place.empty();
    if (answer.ok) renderState(options, place, answer as unknown as FolderListing);
    RED.tray.resize();
  };
  place.data(
    'timer',
    setTimeout(() => void check(), CHECK_PAUSE_MS),
  );
}

const GOOD_STATES = ['writable'];

function renderState({ node }: FolderCheckOptions, place: JQuery, { state, root }: FolderListing): void {
  place.toggleClass('gateway-warning', !GOOD_STATES.includes(state)).text(node._(`folder.state.${state}`, { root }));
}

/** Returns the path in the field, or undefined if only the runtime knows it. */
function readPath({ target }: FolderCheckOptions): string | undefined {
  const source = target.get();
  if (source?.type !== 'str' || source.value.trim() === '' || parseVariableReference(source.value) !== undefined) return undefined;
  return source.value;
}
