import { mkdir, readdir, readFile, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { badInput } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { sentence } from '../model/sentence';
import { fileFault } from '../transfer/file-fault';
import { readJsonFile } from '../transfer/json-file';
import { leftovers, PartialFile, targetOfPartial } from '../transfer/partial-file';
import { patiently, removeFile } from '../transfer/patience';
import { MANIFEST, manifestText, readManifest, type Manifest } from './manifest';
import { fileOf, placeOfFile, tellsPlace } from './names';
import { isWithin, segmentsOf } from './place';
import { kept, textOf } from './resource';

/** What became of the file of a resource. */
export type Stored = 'added' | 'changed' | 'same';

/** A file of a snapshot: of which place it is, and the segments of its own path below the folder. */
export type Entry = readonly [place: string, names: readonly string[]];

/**
 * A snapshot in a folder: one file for each resource, and a manifest. Only files that differ are written, each beside its place and
 * renamed, without waiting for the disk: after a crash the next run mends what is left. Errors: those of `fileFault`.
 */
export class SnapshotFolder {
  readonly folder: string;
  /** As it was found. */
  readonly manifest: Manifest | undefined;
  /** Places of files whose names do not tell them. */
  readonly #names = new Map<string, string>();
  /** Folders that this run has looked for, with the first of them that was not there. */
  readonly #made = new Map<string, Promise<string | undefined>>();

  private constructor(folder: string, manifest: Manifest | undefined) {
    this.folder = folder;
    this.manifest = manifest;
  }

  static async open(folder: string): Promise<SnapshotFolder> {
    return new SnapshotFolder(folder, await readManifest(folder));
  }

  /** Errors: `BAD_INPUT` also where no snapshot is. */
  static async existing(folder: string): Promise<SnapshotFolder & { readonly manifest: Manifest }> {
    const found = await SnapshotFolder.open(folder);
    if (!found.manifest) throw badInput(sentence`${folder} holds no snapshot: there is no ${MANIFEST} in it. Take one into it first.`);
    return found as SnapshotFolder & { readonly manifest: Manifest };
  }

  /** Gives what became of the file, and how long it is. */
  async write(place: string, resource: JsonObject, alike: ReadonlySet<string>): Promise<{ stored: Stored; bytes: number }> {
    const names = fileOf(place, alike);
    const bytes = Buffer.from(textOf(kept(resource)));
    const stored = await this.#writeFile(names, bytes);
    if (!tellsPlace(names)) this.#names.set(names.join('/'), place);
    return { stored, bytes: bytes.length };
  }

  async #writeFile(names: readonly string[], bytes: Buffer): Promise<Stored> {
    const file = join(this.folder, ...names);
    let partial: PartialFile | undefined;
    try {
      // Nothing is there in a folder that was just made.
      const there = (await this.#isNew(names.slice(0, -1))) ? undefined : await readFile(file).catch(unlessMissing);
      // Git may have written other ends of lines.
      if (there && (there.equals(bytes) || there.toString('utf8').replaceAll('\r\n', '\n') === bytes.toString('utf8'))) return 'same';
      partial = await PartialFile.create(file);
      await partial.write(bytes);
      await partial.close(false);
      await partial.commit();
      return there ? 'changed' : 'added';
    } catch (error) {
      await partial?.discard();
      throw fileFault(error, file, 'written');
    }
  }

  /** Makes the folder, if it is not there. */
  async #isNew(names: readonly string[]): Promise<boolean> {
    const folder = join(this.folder, ...names);
    let making = this.#made.get(folder);
    if (!making) this.#made.set(folder, (making = mkdir(folder, { recursive: true, mode: 0o700 })));
    return (await making) !== undefined;
  }

  /** What the file of a resource holds. Errors: `BAD_INPUT` for what cannot be read, or is no resource. */
  async read(names: readonly string[]): Promise<JsonObject> {
    const file = join(this.folder, ...names);
    const found = await readJsonFile(file);
    if (!found) throw fileFault(Object.assign(new Error('gone'), { code: 'ENOENT' }), file, 'read');
    const { value } = found;
    if (value === undefined) throw badInput(sentence`${file} is damaged: it is no JSON. Get it back from where it is kept, or remove it.`);
    if (!isObject(value))
      throw badInput(sentence`${file} is damaged: it holds no object. Get it back from where it is kept, or remove it.`);
    return value;
  }

  /** All files of the snapshot below a place; what is not ours is not among them, nor what lies under other roots. */
  async entries(root: string): Promise<readonly Entry[]> {
    const found: Entry[] = [];
    if (!this.manifest) return found;
    const { path, roots, names: known } = this.manifest;
    for await (const names of this.#files(new Set(roots))) {
      const place = placeOfFile(names) ?? known[names.join('/')];
      if (place !== undefined && isWithin(place, path) && isWithin(place, root)) found.push([place, names]);
    }
    return found;
  }

  async *#files(roots: ReadonlySet<string>): AsyncGenerator<readonly string[]> {
    const open: (readonly string[])[] = [[]];
    for (let folder = open.pop(); folder; folder = open.pop()) {
      const path = join(this.folder, ...folder);
      const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
        throw fileFault(error, path, 'read');
      });
      for (const entry of entries) {
        const names = [...folder, entry.name];
        if (folder.length === 0 && !isOurs(entry.name, roots)) continue;
        if (entry.isDirectory()) open.push(names);
        else if (entry.isFile()) yield names;
      }
      if (entries.some(({ name }) => targetOfPartial(name) !== undefined)) await this.#sweep(path);
    }
  }

  /** What a killed run left. */
  async #sweep(path: string): Promise<void> {
    for (const name of await leftovers(path)) await removeFile(join(path, name));
  }

  /** Removes the file of a resource that is gone, and folders that are empty then. */
  async remove(names: readonly string[]): Promise<void> {
    const file = join(this.folder, ...names);
    try {
      await removeFile(file);
    } catch (error) {
      throw fileFault(error, file, 'written');
    }
    for (let end = names.length - 1; end > 0; end--) {
      const emptied = await rmdir(join(this.folder, ...names.slice(0, end))).then(
        () => true,
        () => false,
      );
      if (!emptied) return;
    }
  }

  /** Gives a file the name that it should have, where a file system takes both for the same. */
  async respell(from: readonly string[], to: readonly string[]): Promise<void> {
    await patiently(() => rename(join(this.folder, ...from), join(this.folder, ...to)));
  }

  /** The manifest, if it differs from what is there. `names`: those of files that stay from earlier. */
  async writeManifest(manifest: Omit<Manifest, 'names'>, names: Iterable<readonly [string, string]>): Promise<void> {
    const all = new Map([...names, ...this.#names]);
    await this.#writeFile([MANIFEST], Buffer.from(manifestText({ ...manifest, names: Object.fromEntries(all) })));
  }
}

/** By the name right below the folder. */
function isOurs(name: string, roots: ReadonlySet<string>): boolean {
  const place = placeOfFile([name.endsWith('.json') ? name : `${name}.json`]);
  if (place === undefined) return false;
  // The root itself has none.
  const [segment] = segmentsOf(place);
  return segment === undefined || roots.has(segment);
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
