import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isSecretKey } from '../../model/secrets';
import { type Json, type JsonObject, isObject } from '../body-shape';
import type { ApplianceState } from '../state';
import { Collection, type Resource, type TreeNode, isVisible } from '../tree';
import { encodePathSegment } from '../url';
import { SNAPSHOT_FORMAT, MANIFEST_FILE_NAME, CONFIGURATION_ROOT, ROOT_FILE_NAME } from './read-copy';

export interface SnapshotCounts {
  resources: number;
  /** Files that are new or have another content. */
  written: number;
  removed: number;
}

type ResourceFile = readonly [path: readonly string[], fields: JsonObject];

/** Writes the configuration as a snapshot, in the format of `gateway-snapshot`, so that `git diff` shows what has changed. */
export function saveSnapshot(state: ApplianceState, folder: string): SnapshotCounts {
  const { copy, configuration, settings, system } = state;
  const source = copy?.source;
  const collisions = new Set<string>();
  collectCollisions(configuration, '', collisions);
  const names: Record<string, string> = {};
  const roots = new Set<string>();
  const files = new Set<string>();
  const counts: SnapshotCounts = { resources: 0, written: 0, removed: 0 };
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const empty: Record<string, Json> = {};
  for (const [path, fields] of listResources(configuration, [])) {
    const segments = path.map(encodePathSegment);
    if (isEmptyResource(path, fields)) {
      empty[[CONFIGURATION_ROOT, ...segments].join('/')] = Object.keys(fields);
      continue;
    }
    const file = toFileNames(segments, collisions).join('/');
    files.add(file);
    if (file.includes('%~')) names[file] = [CONFIGURATION_ROOT, ...segments].join('/');
    if (segments[0] !== undefined) roots.add(segments[0]);
    counts.resources++;
    if (writeIfChanged(join(folder, file), maskAndSort(fields))) counts.written++;
  }
  counts.removed = removeStale(folder, files);
  const manifest = {
    format: SNAPSHOT_FORMAT,
    appliance: source?.appliance ?? settings.name,
    'serial-number': system.serialNumber,
    release: system.release,
    path: source?.path ?? CONFIGURATION_ROOT,
    ...(source && source.ignore.length > 0 && { ignore: [...source.ignore] }),
    roots: [...roots].sort(),
    ...(Object.keys(names).length > 0 && { names: sortEntriesByName(names) }),
    ...(Object.keys(empty).length > 0 && { empty: sortEntriesByName(empty) }),
  };
  writeIfChanged(join(folder, MANIFEST_FILE_NAME), manifest);
  return counts;
}

/** Whether a resource has no fields, or only the empty list of its items. */
function isEmptyResource(path: readonly string[], fields: JsonObject): boolean {
  const [name, second] = Object.keys(fields);
  const value = fields[name ?? ''];
  return name === undefined || (second === undefined && name === path.at(-1) && Array.isArray(value) && value.length === 0);
}

/** Resources with fields or without any content. A resource that has only links is left out. */
function* listResources(resource: Resource, path: readonly string[]): Generator<ResourceFile> {
  const fields: JsonObject = {};
  for (const [name, value] of resource.fields()) if (!resource.isSecret(name)) fields[name] = value;
  for (const [name, child] of resource.children) {
    if (!isVisible(child)) continue;
    if (child instanceof Collection) {
      if (child.items.size === 0 && child.isLinked) yield [[...path, name], { [name]: [] }];
      else if (child.items.size === 0) fields[name] = [];
      if (Object.keys(child.fields).length > 0) yield [[...path, name], child.fields];
      for (const [key, item] of child.items) yield* listResources(item, [...path, name, key]);
    } else yield* listResources(child, [...path, name]);
  }
  if (Object.keys(fields).length > 0 || ![...resource.children.values()].some(isVisible)) yield [path, fields];
}

/** Collects siblings whose names differ only in case. */
function collectCollisions(node: TreeNode, path: string, collisions: Set<string>): void {
  const children: Iterable<[string, TreeNode]> = node instanceof Collection ? node.items : node.children;
  const first = new Map<string, string>();
  for (const [name, child] of children) {
    const segment = encodePathSegment(name);
    const below = path === '' ? segment : `${path}/${segment}`;
    const other = first.get(below.toLowerCase());
    if (other !== undefined) collisions.add(other).add(below);
    first.set(below.toLowerCase(), other ?? below);
    collectCollisions(child, below, collisions);
  }
}

const MAX_NAME_LENGTH = 180;
const RESERVED = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9]|conin%24|conout%24)(?:\.|$)/i;

function toFileNames(segments: readonly string[], collisions: ReadonlySet<string>): string[] {
  if (segments.length === 0) return [ROOT_FILE_NAME];
  return segments.map((segment, index) => {
    const isLast = index === segments.length - 1;
    const name = toFileName(segment, collisions.has(segments.slice(0, index + 1).join('/')), !isLast);
    return isLast ? `${name}.json` : name;
  });
}

/** Writes characters with a meaning for file systems or Git as `%XX`. A long name ends with a hash. */
function toFileName(segment: string, hasCollision: boolean, isFolder: boolean): string {
  let name = segment.replaceAll('~', '%7E').replace(/\.$/, '%2E');
  if (RESERVED.test(name)) name = `%${name.charCodeAt(0).toString(16).toUpperCase()}${name.slice(1)}`;
  if (isFolder) name = name.replace(/\.(json)$/i, '%2E$1');
  if (!hasCollision && name.length <= MAX_NAME_LENGTH) return name;
  const digest = createHash('sha256').update(segment).digest('hex').slice(0, 12);
  return `${name.slice(0, MAX_NAME_LENGTH - 16).replace(/%[0-9A-F]?$/, '')}%~${digest}`;
}

const SECRET_MASK = '***';

function maskAndSort(value: JsonObject): JsonObject {
  const entries = Object.keys(value)
    .sort()
    .map((key): [string, Json] => {
      const own = value[key] ?? null;
      const isPlain = own === '' || own === null || typeof own === 'boolean';
      return [key, isSecretKey(key, value) && !isPlain ? SECRET_MASK : maskValue(own)];
    });
  return Object.fromEntries(entries);
}

function maskValue(value: Json): Json {
  if (Array.isArray(value)) return value.map(maskValue);
  return isObject(value) ? maskAndSort(value) : value;
}

const sortEntriesByName = <T>(value: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Writes beside the target and renames, so that a reader never sees a partial file. */
function writeIfChanged(file: string, content: JsonObject): boolean {
  const text = `${JSON.stringify(content, null, 2)}\n`;
  try {
    if (readFileSync(file, 'utf8').replaceAll('\r\n', '\n') === text) return false;
  } catch {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  }
  const partial = `${file}.${process.pid}.partial`;
  writeFileSync(partial, text, { mode: 0o600 });
  renameSync(partial, file);
  return true;
}

/** Removes files that an earlier snapshot in this folder has and this one has not. Foreign files stay. */
function removeStale(folder: string, files: ReadonlySet<string>): number {
  let manifest: unknown;
  try {
    manifest = JSON.parse(readFileSync(join(folder, MANIFEST_FILE_NAME), 'utf8'));
  } catch {
    return 0;
  }
  const roots = isObject(manifest) && Array.isArray(manifest.roots) ? manifest.roots.map(String) : [];
  let removed = 0;
  const visit = (path: string): void => {
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      const below = path === '' ? entry.name : `${path}/${entry.name}`;
      if (path === '' && !isOfRoots(entry.name, roots)) continue;
      if (entry.isDirectory()) {
        visit(below);
        if (readdirSync(join(folder, below)).length === 0) rmdirSync(join(folder, below));
      } else if (entry.isFile() && entry.name.endsWith('.json') && !files.has(below)) {
        rmSync(join(folder, below));
        removed++;
      }
    }
  };
  visit('');
  return removed;
}

function isOfRoots(name: string, roots: readonly string[]): boolean {
  return roots.some((root) =>
    [true, false].some((hasCollision) =>
      [toFileName(root, hasCollision, true), `${toFileName(root, hasCollision, false)}.json`].includes(name),
    ),
  );
}
