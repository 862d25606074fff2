import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Json, type JsonObject, isObject } from '../body-shape';

/** A configuration to copy: a snapshot folder, JSON documents, or both. */
export interface CopySource {
  /** Name of the appliance, as the snapshot has it. */
  appliance: string | undefined;
  serialNumber: string | undefined;
  release: string | undefined;
  /** Path of the topmost resource of the snapshot. */
  path: string;
  ignore: readonly string[];
}

/** Receives each resource by its decoded path segments below the configuration. */
export type ResourceCallback = (segments: readonly string[], fields: JsonObject) => void;

/** Receives what a configuration consists of. */
export interface CopyListener {
  onResource: ResourceCallback;
  /** Receives each linked resource without fields, with the names of its empty lists. */
  onEmpty: (segments: readonly string[], lists: readonly string[]) => void;
}

export const CONFIGURATION_ROOT = '/api/v1/configuration';
export const MANIFEST_FILE_NAME = '.gateway-snapshot.json';
export const SNAPSHOT_FORMAT = 'gateway-snapshot/1';
/** File of the root, which has no segment. */
export const ROOT_FILE_NAME = '%.json';

const MAX_DEPTH = 64;

/** Reads what `--from` names. Throws a plain sentence that names the file. */
export function readCopy(from: readonly (string | JsonObject)[], listener: CopyListener): CopySource {
  const source: CopySource = { appliance: undefined, serialNumber: undefined, release: undefined, path: CONFIGURATION_ROOT, ignore: [] };
  for (const one of from) {
    if (typeof one !== 'string') readDocument(one, 'The document', source, listener);
    else if (isFolder(one)) readFolder(one, source, listener);
    else readDocument(readJsonObject(one), one, source, listener);
  }
  return source;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (cause) {
    throw new Error(`${path} cannot be read. Name a snapshot folder or a JSON file.`, { cause });
  }
}

function readJsonObject(file: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    const fault = cause instanceof SyntaxError ? 'is damaged: it is not JSON' : 'cannot be read';
    throw new Error(`${file} ${fault}. The copy was not started.`, { cause });
  }
  if (!isObject(value)) throw new Error(`${file} does not hold a JSON object. The copy was not started.`);
  return value;
}

function readOrigin(value: JsonObject, source: CopySource): void {
  const text = (name: string): string | undefined => (typeof value[name] === 'string' ? value[name] : undefined);
  source.appliance ??= text('appliance');
  source.serialNumber ??= text('serial-number');
  source.release ??= text('release');
  source.path = text('path') ?? CONFIGURATION_ROOT;
  if (Array.isArray(value.ignore)) source.ignore = value.ignore.filter((pattern) => typeof pattern === 'string');
}

function readFolder(folder: string, source: CopySource, listener: CopyListener): void {
  const manifest = readManifest(folder);
  readOrigin(manifest, source);
  const names = isObject(manifest.names) ? manifest.names : {};
  const roots = new Set(Array.isArray(manifest.roots) ? manifest.roots.map(String) : []);
  const visit = (path: readonly string[]): void => {
    const entries = readdirSync(join(folder, ...path), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const below = [...path, entry.name];
      if (path.length === 0 && !isSnapshotName(entry.name, roots)) continue;
      if (entry.isDirectory()) visit(below);
      else if (entry.isFile() && entry.name.endsWith('.json')) {
        const segments = toSegments(below, names[below.join('/')]);
        if (segments) listener.onResource(segments, readJsonObject(join(folder, ...below)));
      }
    }
  };
  visit([]);
  readEmpty(manifest, listener);
}

function readEmpty({ empty }: JsonObject, { onEmpty }: CopyListener): void {
  for (const [path, lists] of Object.entries(isObject(empty) ? empty : {})) {
    const segments = splitPath(path);
    if (segments && Array.isArray(lists)) onEmpty(segments, lists.map(String));
  }
}

function readManifest(folder: string): JsonObject {
  const file = join(folder, MANIFEST_FILE_NAME);
  let manifest: JsonObject;
  try {
    manifest = readJsonObject(file);
  } catch (cause) {
    throw new Error(
      `${folder} is not a snapshot folder: it has no ${MANIFEST_FILE_NAME} that can be read. Take a snapshot into it first.`,
      {
        cause,
      },
    );
  }
  if (manifest.format !== SNAPSHOT_FORMAT) throw new Error(`${file} is from another version: its format is not ${SNAPSHOT_FORMAT}.`);
  return manifest;
}

/** Everything else in the folder is foreign. A name that was shortened begins like its segment. */
function isSnapshotName(name: string, roots: ReadonlySet<string>): boolean {
  if (name === ROOT_FILE_NAME) return true;
  const segment = decodeName(name.replace(/\.json$/, ''));
  if (segment === undefined || name.includes('%~')) return name.includes('%~');
  for (const root of roots) if (decodeName(root) === segment) return true;
  return false;
}

function toSegments(names: readonly string[], knownPath: Json | undefined): string[] | undefined {
  if (typeof knownPath === 'string') return splitPath(knownPath);
  if (names.length === 1 && names[0] === ROOT_FILE_NAME) return [];
  const segments = names.map((name, index) => decodeName(index === names.length - 1 ? name.slice(0, -'.json'.length) : name));
  return segments.every((segment) => segment !== undefined && segment !== '') ? segments.map(String) : undefined;
}

function decodeName(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}

function splitPath(path: string): string[] | undefined {
  if (path !== CONFIGURATION_ROOT && !path.startsWith(`${CONFIGURATION_ROOT}/`)) return undefined;
  const segments = path
    .slice(CONFIGURATION_ROOT.length)
    .split('/')
    .filter((segment) => segment !== '')
    .map(decodeName);
  return segments.every((segment) => segment !== undefined) ? segments.map(String) : undefined;
}

/** A snapshot of a message, an object of resources by path, or the configuration as one nested document. */
function readDocument(document: JsonObject, label: string, source: CopySource, listener: CopyListener): void {
  if (document.format === SNAPSHOT_FORMAT) readOrigin(document, source);
  const resources = document.format === SNAPSHOT_FORMAT ? document.resources : document;
  if (!isObject(resources)) throw new Error(`${label} is not a snapshot: it has no resources.`);
  const paths = Object.keys(resources);
  if (paths.length > 0 && paths.every((path) => path === CONFIGURATION_ROOT || path.startsWith(`${CONFIGURATION_ROOT}/`))) {
    for (const [path, fields] of Object.entries(resources)) {
      const segments = splitPath(path);
      if (!segments || !isObject(fields)) throw new Error(`${label} is damaged at ${path}. The copy was not started.`);
      listener.onResource(segments, fields);
    }
    if (document.format === SNAPSHOT_FORMAT) readEmpty(document, listener);
  } else readNested([], isObject(document.configuration) && paths.length === 1 ? document.configuration : document, listener.onResource);
}

/** Each object becomes a resource, and a list of named objects becomes a collection. */
function readNested(path: readonly string[], document: JsonObject, onResource: ResourceCallback): void {
  if (path.length > MAX_DEPTH) throw new Error(`A document is nested deeper than ${MAX_DEPTH} levels.`);
  const own: [string, Json][] = [];
  for (const [name, value] of Object.entries(document)) {
    const items = Array.isArray(value) ? value.filter(isObject) : [];
    const itemNames = items.map((item) => item.name ?? item.username).filter(isName);
    const isCollection = items.length > 0 && Array.isArray(value) && itemNames.length === value.length;
    if (isCollection) items.forEach((item, index) => readNested([...path, name, itemNames[index] ?? ''], item, onResource));
    else if (isObject(value) && typeof value.href !== 'string') readNested([...path, name], value, onResource);
    else if (name !== 'href' && !isObject(value)) own.push([name, value]);
  }
  if (own.length > 0 || path.length === 0) onResource(path, Object.fromEntries(own));
}

const isName = (name: Json | undefined): name is string => typeof name === 'string' && name !== '';
