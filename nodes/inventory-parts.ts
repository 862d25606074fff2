import { readFile, stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { NodeAPI } from 'node-red';
import { DEFAULT_SET, LARGEST_BYTES } from '../src/inventory';
import { isObject, type JsonObject } from '../src/model/json';
import { ours, sentence } from '../src/model/sentence';
import { fileFault } from '../src/transfer/file-fault';
import { badConfig, type Properties } from './properties';

// What the deployed node of an inventory and its dialog read alike.

/** Sets beside the default one that the node itself can keep; any number can come from the environment or a folder. */
export const MOST_SETS = 7;

/** A file that is being written is left alone until it stays as it is. */
const SETTLES_MS = 100;

/** Under which name Node-RED keeps a value of a set: the default one as an appliance has it, further ones with their number behind, `password_1`. */
export function storedName(name: string, set: number): string {
  return set === 0 ? name : `${name}_${set}`;
}

/** The sets that the node itself keeps, each by its place. Errors: `BAD_CONFIG` where there are too many. */
export function setsOf(properties: Properties): string[] {
  const names = (properties.text('sets') ?? '').split(/[\s,;]+/).filter((name) => name !== '');
  if (names.length > MOST_SETS)
    throw badConfig(`The node itself keeps ${MOST_SETS} sets beside the default one. Take the environment or a folder for more.`);
  return [DEFAULT_SET, ...names];
}

/** What the appliances have in common. Errors: `BAD_CONFIG`. */
export function defaultsOf(properties: Properties): JsonObject {
  const read = jsonOf('defaults', properties.text('defaults')) ?? {};
  if (!isObject(read)) throw badConfig('defaults has to be an object of properties, such as { "realm": "Admin Users" }.');
  const own = { tls: properties.text('tls'), proxy: properties.text('proxy') };
  return { ...Object.fromEntries(Object.entries(own).filter(([, id]) => id !== undefined)), ...read };
}

/** The ids of what an appliance refers to: a configuration node by its id, or by its name, which is what people write into a table. */
export function referredBy(red: NodeAPI, { tls, proxy }: JsonObject): { tls: unknown; proxy: unknown } {
  return { tls: idOf(red, 'tls-config', tls), proxy: idOf(red, 'http proxy', proxy) };
}

function idOf(red: NodeAPI, type: string, value: unknown): unknown {
  if (typeof value !== 'string' || value === '') return undefined;
  const ids: string[] = [];
  red.nodes.eachNode((node: { id: string; type: string; name?: unknown }) => {
    if (node.type === type && (node.id === value || node.name === value)) ids.push(node.id);
  });
  if (ids.length > 1 && !ids.includes(value))
    throw badConfig(sentence`Two nodes for ${type} have the name ${value}. Give each a name of its own.`);
  return ids.includes(value) ? value : (ids[0] ?? value);
}

/** Errors: `BAD_CONFIG`. */
export async function readSettled(file: string): Promise<string> {
  try {
    for (let before = await stat(file); ;) {
      if (before.size > LARGEST_BYTES) throw badConfig(`The file of the inventory is larger than ${LARGEST_BYTES / 2 ** 20} MiB.`);
      const text = await readFile(file, 'utf8');
      await pause(SETTLES_MS);
      const after = await stat(file);
      if (after.mtimeMs === before.mtimeMs && after.size === before.size) return text;
      before = after;
    }
  } catch (thrown) {
    throw 'code' in (thrown as object) && !(thrown as { sentence?: unknown }).sentence ? fileFault(thrown, file, 'read') : thrown;
  }
}

function jsonOf(name: string, text: string | undefined): unknown {
  if (text === undefined || text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw badConfig(sentence`${ours(name)} is no JSON. Open the inventory and enter it again.`);
  }
}
