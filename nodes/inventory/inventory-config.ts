import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { NodeAPI } from 'node-red';
import { DEFAULT_CREDENTIAL_SET, MAX_INVENTORY_BYTES } from '../../src/inventory';
import { isObject, type JsonObject } from '../../src/model/json';
import { trusted, safeMessage } from '../../src/model/safe-message';
import { toFileError } from '../../src/files/file-error';
import { readRegularFile } from '../../src/files/open-regular-file';
import { badConfig, type NodeProperties } from '../common/node-properties';

/** Number of credential sets that the node stores besides the default set. The environment or a folder can hold any number. */
export const MAX_EXTRA_CREDENTIAL_SETS = 7;

/** A file must be unchanged for this long before it is read. */
const FILE_SETTLE_MS = 100;

/** Returns the credential name of a value: `password` in the default set, `password_1` in the first further set. */
export function getStoredCredentialName(name: string, set: number): string {
  return set === 0 ? name : `${name}_${set}`;
}

/** Returns the names of the sets that the node stores, by position. Errors: `BAD_CONFIG` if there are too many. */
export function readCredentialSetNames(properties: NodeProperties): string[] {
  const names = (properties.text('sets') ?? '').split(/[\s,;]+/).filter((name) => name !== '');
  if (names.length > MAX_EXTRA_CREDENTIAL_SETS)
    throw badConfig(
      `The node stores at most ${MAX_EXTRA_CREDENTIAL_SETS} credential sets besides the default one. Use the environment or a folder for more.`,
    );
  return [DEFAULT_CREDENTIAL_SET, ...names];
}

/** Reads the common properties of all appliances. Errors: `BAD_CONFIG`. */
export function readDefaults(properties: NodeProperties): JsonObject {
  const defaults = parseJsonProperty('defaults', properties.text('defaults')) ?? {};
  if (!isObject(defaults)) throw badConfig('defaults must be an object of properties, such as { "realm": "Admin Users" }.');
  const references = { tls: properties.text('tls'), proxy: properties.text('proxy') };
  return { ...Object.fromEntries(Object.entries(references).filter(([, id]) => id !== undefined)), ...defaults };
}

/** Reads the hosts that credentials may be sent to in addition to those of the deploy. */
export function readAllowedHosts(properties: NodeProperties): string[] {
  return (properties.text('allowedHosts') ?? '').split(/[\s,;]+/).filter((pattern) => pattern !== '');
}

/** Resolves configuration nodes to ids. A table can refer to them by id or by name. */
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
    throw badConfig(safeMessage`Two nodes of type ${type} have the name ${value}. Give each a different name.`);
  return ids.includes(value) ? value : (ids[0] ?? value);
}

/** Returns the snapshot folder of one appliance: a folder with its name, below the folder of the inventory. */
export function toRehearsalProperty(properties: NodeProperties, { name }: JsonObject): { rehearsal?: string } {
  const folder = properties.text('rehearsal');
  return folder === undefined ? {} : { rehearsal: join(folder, encodeURIComponent(String(name)).replace(/^\.+$/, '%2E')) };
}

/** Reads a file that has stopped changing. Errors: `BAD_CONFIG`. */
export async function readFileAfterLastChange(file: string): Promise<string> {
  try {
    for (let before = await stat(file); ;) {
      if (before.size > MAX_INVENTORY_BYTES)
        throw badConfig(`The file of the inventory is larger than ${MAX_INVENTORY_BYTES / 2 ** 20} MiB.`);
      const text = (await readRegularFile(file, MAX_INVENTORY_BYTES)).toString('utf8');
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
    throw badConfig(safeMessage`${trusted(name)} is not valid JSON. Open the inventory and enter it again.`);
  }
}
