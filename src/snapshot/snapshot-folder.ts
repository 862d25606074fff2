import { lstat, mkdir, readdir, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { badInput } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { safeMessage } from '../model/safe-message';
import { toFileError } from '../files/file-error';
import { readRegularFile } from '../files/open-regular-file';
import { readJsonFile } from '../files/read-json-file';
import { findStalePartialFiles, AtomicFile, parsePartialFileTarget } from '../files/atomic-file';
import { retryWhileLocked, removeFile } from '../files/retry-locked';
import { MANIFEST_FILE_NAME, serializeManifest, readSnapshotManifest, type SnapshotManifest } from './manifest';
import { toFileSegments, parseFileSegments, isPathInFileName, ROOT_FILE_NAME, getTopLevelNames } from './resource-file-names';
import { isPathWithin } from './resource-path';
import { canonicalizeResource, toResourceFileText } from './resource';

/** Maximum size of a snapshot file. A resource is far smaller; a larger file is foreign. */
const MAX_RESOURCE_BYTES = 64 * 1024 * 1024;

/** What a write did to the file of a resource. */
type FileChange = 'added' | 'changed' | 'same';

/** A snapshot file: the path of its resource and its file path segments. */
export type SnapshotEntry = readonly [place: string, names: readonly string[]];

/**
 * A snapshot in a folder: one file per resource, and a manifest. Only changed files are written, each beside its target and then renamed.
 * No flush is needed, because the next run repairs the folder after a crash. Throws the errors of `toFileError`.
 */
export class SnapshotFolder {
  readonly folder: string;
  /** The manifest when the folder was opened. */
  readonly manifest: SnapshotManifest | undefined;
  /** Paths of files whose names do not contain the path. */
  readonly #pathsByName = new Map<string, string>();
  /** Folders that this run has created or found. The value is the first folder that was created. */
  readonly #createdFolders = new Map<string, Promise<string | undefined>>();

  private constructor(folder: string, manifest: SnapshotManifest | undefined) {
    this.folder = folder;
    this.manifest = manifest;
  }

  static async open(folder: string): Promise<SnapshotFolder> {
    return new SnapshotFolder(folder, await readSnapshotManifest(folder));
  }

  /** Opens a folder that holds a snapshot. Throws `BAD_INPUT` if it holds none. */
  static async openExisting(folder: string): Promise<SnapshotFolder & { readonly manifest: SnapshotManifest }> {
    const found = await SnapshotFolder.open(folder);
    if (!found.manifest)
      throw badInput(safeMessage`${folder} is not a snapshot folder: it has no ${MANIFEST_FILE_NAME}. Take a snapshot into it first.`);
    return found as SnapshotFolder & { readonly manifest: SnapshotManifest };
  }

  /** Writes the file of a resource. Returns what changed and the size of the file. */
  async write(path: string, resource: JsonObject, caseCollisions: ReadonlySet<string>): Promise<{ change: FileChange; bytes: number }> {
    const names = toFileSegments(path, caseCollisions);
    const bytes = Buffer.from(toResourceFileText(canonicalizeResource(resource)));
    const change = await this.#writeFile(names, bytes);
    if (!isPathInFileName(names)) this.#pathsByName.set(names.join('/'), path);
    return { change, bytes: bytes.length };
  }

  async #writeFile(names: readonly string[], bytes: Buffer): Promise<FileChange> {
    const file = join(this.folder, ...names);
    let partial: AtomicFile | undefined;
    try {
      // A new folder has no files.
      const existing = (await this.#createFolder(names.slice(0, -1)))
        ? undefined
        : await readRegularFile(file, MAX_RESOURCE_BYTES).catch(ignoreNotFound);
      // Git may have changed the line ends.
      if (existing && (existing.equals(bytes) || existing.toString('utf8').replaceAll('\r\n', '\n') === bytes.toString('utf8')))
        return 'same';
      partial = await AtomicFile.create(file);
      await partial.write(bytes);
      await partial.close(false);
      await partial.commit();
      return existing ? 'changed' : 'added';
    } catch (error) {
      await partial?.discard();
      throw toFileError(error, file, 'written');
    }
  }

  /** Creates a folder if it does not exist, and checks it for links, both once in a run. Returns whether it was created. */
  async #createFolder(names: readonly string[]): Promise<boolean> {
    const folder = join(this.folder, ...names);
    let creation = this.#createdFolders.get(folder);
    if (!creation) {
      creation = this.#assertRealFolders(names).then(() => mkdir(folder, { recursive: true, mode: 0o700 }));
      this.#createdFolders.set(folder, creation);
    }
    return (await creation) !== undefined;
  }

  /** Throws `BAD_INPUT` if a folder on the way is a link: a write through it would leave the snapshot. */
  async #assertRealFolders(names: readonly string[]): Promise<void> {
    for (let end = 1; end <= names.length; end++) {
      const path = join(this.folder, ...names.slice(0, end));
      const stats = await lstat(path).catch(ignoreNotFound);
      if (!stats) return;
      if (stats.isSymbolicLink())
        throw badInput(safeMessage`${path} is a link, but must be a folder. Nothing was written there. Remove the link.`);
    }
  }

  /** Reads the file of a resource. Throws `BAD_INPUT` if it is unreadable or damaged. */
  async read(names: readonly string[]): Promise<JsonObject> {
    const file = join(this.folder, ...names);
    const found = await readJsonFile(file);
    if (!found) throw toFileError(Object.assign(new Error('gone'), { code: 'ENOENT' }), file, 'read');
    const { value } = found;
    if (value === undefined)
      throw badInput(safeMessage`${file} is damaged: it is not JSON. Restore the file from Git or a backup, or remove it.`);
    if (!isObject(value))
      throw badInput(safeMessage`${file} is damaged: it is not an object. Restore the file from Git or a backup, or remove it.`);
    return value;
  }

  /** Lists the snapshot's files below a path, without foreign files and files under other roots. */
  async entries(root: string): Promise<readonly SnapshotEntry[]> {
    const found: SnapshotEntry[] = [];
    if (!this.manifest) return found;
    const { path, roots, names: knownPaths } = this.manifest;
    for await (const names of this.#files(new Set(roots))) {
      const resourcePath = parseFileSegments(names) ?? knownPaths[names.join('/')];
      if (resourcePath !== undefined && isPathWithin(resourcePath, path) && isPathWithin(resourcePath, root))
        found.push([resourcePath, names]);
    }
    return found;
  }

  async *#files(roots: ReadonlySet<string>): AsyncGenerator<readonly string[]> {
    const pendingFolders: (readonly string[])[] = [[]];
    const topLevelNames = new Set([...roots].flatMap(getTopLevelNames));
    for (let folder = pendingFolders.pop(); folder; folder = pendingFolders.pop()) {
      const path = join(this.folder, ...folder);
      const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
        throw toFileError(error, path, 'read');
      });
      for (const entry of entries) {
        const names = [...folder, entry.name];
        if (folder.length === 0 && !topLevelNames.has(entry.name) && entry.name !== ROOT_FILE_NAME) continue;
        if (entry.isDirectory()) pendingFolders.push(names);
        else if (entry.isFile()) yield names;
      }
      if (entries.some(({ name }) => parsePartialFileTarget(name) !== undefined)) await this.#removeStalePartials(path);
    }
  }

  /** Removes partial files of killed runs. */
  async #removeStalePartials(path: string): Promise<void> {
    for (const name of await findStalePartialFiles(path)) await removeFile(join(path, name));
  }

  /** Removes the file of a deleted resource, and folders that are empty afterwards. */
  async remove(names: readonly string[]): Promise<void> {
    const file = join(this.folder, ...names);
    try {
      await this.#assertRealFolders(names.slice(0, -1));
      await removeFile(file);
    } catch (error) {
      throw toFileError(error, file, 'written');
    }
    for (let end = names.length - 1; end > 0; end--) {
      const isRemoved = await rmdir(join(this.folder, ...names.slice(0, end))).then(
        () => true,
        () => false,
      );
      if (!isRemoved) return;
    }
  }

  /** Renames a file whose name differs only in case. */
  async renameFile(from: readonly string[], to: readonly string[]): Promise<void> {
    await this.#assertRealFolders(from.slice(0, -1));
    await this.#assertRealFolders(to.slice(0, -1));
    await retryWhileLocked(() => rename(join(this.folder, ...from), join(this.folder, ...to)));
  }

  /** Writes the manifest if it differs. `names` are the retained names from earlier. */
  async writeManifest(manifest: Omit<SnapshotManifest, 'names'>, names: Iterable<readonly [string, string]>): Promise<void> {
    const pathsByName = new Map([...names, ...this.#pathsByName]);
    await this.#writeFile([MANIFEST_FILE_NAME], Buffer.from(serializeManifest({ ...manifest, names: Object.fromEntries(pathsByName) })));
  }
}

function ignoreNotFound(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
