import { constants } from 'node:fs';
import { access, lstat, mkdir, readdir, realpath, rmdir, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { badInput } from '../../src/model/error';
import { safeMessage } from '../../src/model/safe-message';

/** What a dialog shows about the folder of a field. Folders outside the user directory are never read. */
type FolderState = 'none' | 'writable' | 'read-only' | 'missing' | 'no-folder' | 'outside';

export interface FolderListing {
  /** The state of the requested folder. */
  readonly state: FolderState;
  readonly root: string;
  /** The listed folder: the requested one, or its nearest existing parent below the user directory. */
  readonly path: string;
  /** Names from the user directory to the listed folder. */
  readonly names: readonly string[];
  readonly folders: readonly string[];
  readonly separator: string;
}

const MAX_LISTED_FOLDERS = 500;
const MAX_NAME_CHARACTERS = 100;
/** Maximum length of a path, because each part of a path is checked on the disk. No system has longer paths. */
const MAX_PATH_CHARACTERS = 4096;

/** Lists and creates folders below a root folder. Links that leave the root are neither followed nor listed. */
export class UserFolderBrowser {
  readonly #root: string;

  constructor(root: string) {
    this.#root = resolve(root);
  }

  /** Lists the folders in `path`, or in its nearest existing parent. An empty path is the root. */
  async list(path: string): Promise<FolderListing> {
    const found = await this.#find(path);
    const isShown = found.state === 'writable' || found.state === 'read-only';
    const shown = isShown || found.state === 'missing' ? found.existing : this.#root;
    const entries = await readdir(shown, { withFileTypes: true }).catch(() => []);
    const folders = entries.filter((entry) => entry.isDirectory() && isVisible(entry.name)).map(({ name }) => name);
    const names = relative(this.#root, shown).split(sep).filter(Boolean);
    return {
      state: found.state,
      root: this.#root,
      path: shown,
      names,
      folders: folders.sort((a, b) => a.localeCompare(b)).slice(0, MAX_LISTED_FOLDERS),
      separator: sep,
    };
  }

  /** Creates the folder `name` in the folder `path`. Errors: `BAD_INPUT` for a bad name or a folder that is not below the root. */
  async create(path: string, name: string): Promise<FolderListing> {
    if (name === '' || name.length > MAX_NAME_CHARACTERS || !isVisible(name) || /[/\\:*?"<>|\p{Cc}]/u.test(name) || /[. ]$/.test(name))
      throw badInput(safeMessage`${name} is not a name for a folder. Nothing was created.`);
    const parent = await this.#find(path);
    if (parent.state !== 'writable') throw badInput('The folder cannot be created here: Node-RED cannot write to the parent folder.');
    const created = join(parent.existing, name);
    try {
      // Backups and snapshots are nobody else's business.
      await mkdir(created, { mode: 0o700 });
    } catch {
      throw badInput(safeMessage`The folder ${name} exists already, or Node-RED cannot create it.`);
    }
    // The parent can have been replaced by a link meanwhile.
    if (!isBelow(await realpath(this.#root), await realpath(created))) {
      await rmdir(created);
      throw badInput('The folder is outside the user directory of Node-RED.');
    }
    return this.list(created);
  }

  async #find(path: string): Promise<{ state: FolderState; existing: string }> {
    if (path.trim() === '') return { state: 'none', existing: this.#root };
    const outside = { state: 'outside', existing: this.#root } as const;
    if (path.length > MAX_PATH_CHARACTERS) return outside;
    const requested = await this.#toRootPath(resolve(path));
    if (requested === undefined) return outside;
    const existing = await findExisting(requested, this.#root);
    // Also for a link that leads nowhere: the answer must not say what is outside.
    const real = await realpath(existing).catch(() => undefined);
    if (real === undefined || !isBelow(await realpath(this.#root), real)) return outside;
    const isFolder = (await stat(existing)).isDirectory();
    if (!isFolder) return { state: 'no-folder', existing: this.#root };
    if (existing !== requested) return { state: 'missing', existing };
    const isWritable = await access(existing, constants.W_OK).then(
      () => true,
      () => false,
    );
    return { state: isWritable ? 'writable' : 'read-only', existing };
  }

  /** Returns a path relative to the root, which can be a link itself. */
  async #toRootPath(path: string): Promise<string | undefined> {
    if (isBelow(this.#root, path)) return path;
    const realRoot = await realpath(this.#root);
    return isBelow(realRoot, path) ? join(this.#root, relative(realRoot, path)) : undefined;
  }
}

/** Returns the path or its nearest existing parent. A link counts as existing, wherever it leads. */
async function findExisting(path: string, root: string): Promise<string> {
  for (let current = path; current !== root; current = dirname(current)) {
    try {
      await lstat(current);
      return current;
    } catch {
      // Its parent is next.
    }
  }
  return root;
}

function isBelow(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** Whether a folder is listed. Hidden folders hold settings of programs, and `node_modules` holds programs. */
function isVisible(name: string): boolean {
  return !name.startsWith('.') && name !== 'node_modules';
}
