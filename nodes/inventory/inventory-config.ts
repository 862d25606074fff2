import { readFile, stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { NodeAPI } from 'node-red';
import { DEFAULT_CREDENTIAL_SET, MAX_INVENTORY_BYTES } from '../../src/inventory';
import { isObject, type JsonObject } from '../../src/model/json';
import { trusted, safeMessage } from '../../src/model/safe-message';
import { toFileError } from '../../src/files/file-error';
import { badConfig, type NodeProperties } from '../common/node-properties';

// What the deployed node of an inventory and its dialog read alike.

/** Sets beside the default one that the node itself can keep; any number can come from the environment or a folder. */
export const MAX_EXTRA_CREDENTIAL_SETS = 7;

/** A file that is being written is left alone until it stays as it is. */
const FILE_SETTLE_MS = 100;

/** Under which name Node-RED keeps a value of a set: the default one as an appliance has it, further ones with their number behind, `password_1`. */
export function storedCredentialName(name: string, set: number): string {
  return set === 0 ? name : `${name}_${set}`;
}

/** The sets that the node itself keeps, each by its place. Errors: `BAD_CONFIG` where there are too many. */
export function readSetNames(properties: NodeProperties): string[] {
  const names = (properties.text('sets') ?? '').split(/[\s,;]+/).filter((name) => name !== '');
  if (names.length > MAX_EXTRA_CREDENTIAL_SETS)
    throw badConfig(
      `The node itself keeps ${MAX_EXTRA_CREDENTIAL_SETS} sets beside the default one. Take the environment or a folder for more.`,
    );
  return [DEFAULT_CREDENTIAL_SET, ...names];
}

/** What the appliances have in common. Errors: `BAD_CONFIG`. */
export function readDefaults(properties: NodeProperties): JsonObject {
  const defaults = parseJsonProperty('defaults', properties.text('defaults')) ?? {};
  if (!isObject(defaults)) throw badConfig('defaults has to be an object of properties, such as { "realm": "Admin Users" }.');
  const references = { tls: properties.text('tls'), proxy: properties.text('proxy') };
  return { ...Object.fromEntries(Object.entries(references).filter(([, id]) => id !== undefined)), ...defaults };
}

/** The ids of what an appliance refers to: a configuration node by its id, or by its name, which is what people write into a table. */
export function resolveConfigNodeIds(red: NodeAPI, { tls, proxy }: JsonObject): { tls: unknown; proxy: unknown } {
  return { tls: findConfigNodeId(red, 'tls-config', tls), proxy: findConfigNodeId(red, 'http proxy', proxy) };
}

function findConfigNodeId(red: NodeAPI, type: string, value: unknown): unknown {
  if (typeof value !== 'string' || value === '') return undefined;
  const ids: string[] = [];
  red.nodes.eachNode((node: { id: string; type: string; name?: unknown }) => {
    if (node.type === type && (node.id === value || node.name === value)) ids.push(node.id);
  });
  if (ids.length > 1 && !ids.includes(value))
    throw badConfig(safeMessage`Two nodes for ${type} have the name ${value}. Give each a name of its own.`);
  return ids.includes(value) ? value : (ids[0] ?? value);
}

/** Errors: `BAD_CONFIG`. */
export async function readStableFile(file: string): Promise<string> {
  try {
    for (let before = await stat(file); ;) {
      if (before.size > MAX_INVENTORY_BYTES)
        throw badConfig(`The file of the inventory is larger than ${MAX_INVENTORY_BYTES / 2 ** 20} MiB.`);
      const text = await readFile(file, 'utf8');
      await pause(FILE_SETTLE_MS);
      const after = await stat(file);
      if (after.mtimeMs === before.mtimeMs && after.size === before.size) return text;
      before = after;
    }
  } catch (thrown) {
    throw 'code' in (thrown as object) && !(thrown as { safeMessage?: unknown }).safeMessage ? toFileError(thrown, file, 'read') : thrown;
  }
}

function parseJsonProperty(name: string, text: string | undefined): unknown {
  if (text === undefined || text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw badConfig(safeMessage`${trusted(name)} is no JSON. Open the inventory and enter it again.`);
  }
}
