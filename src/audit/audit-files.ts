import { resolve } from 'node:path';
import { toFileError } from '../files/file-error';
import { readRegularFile } from '../files/open-regular-file';
import { badInput } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { safeMessage } from '../model/safe-message';

/** A list in the input, or the name of a file with the list. */
export type ListOrFile = string | JsonObject | (string | JsonObject)[] | undefined;

const MAX_FILE_BYTES = 4 * 1024 * 1024;

/** Reads rules or exceptions: a list, or a YAML or JSON file with a list. Errors: `BAD_INPUT` with the name of the field. */
export async function readListOrFile(value: ListOrFile, field: string): Promise<readonly JsonObject[]> {
  if (value === undefined) return [];
  const given = typeof value === 'string' ? await readListFile(value) : value;
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  return list.map((item, index) => {
    if (!isObject(item))
      throw badInput(
        safeMessage`${field} has an entry that is not an object: number ${index + 1}. Enter a list of objects, or the name of a file with one.`,
      );
    return item;
  });
}

async function readListFile(file: string): Promise<unknown> {
  const path = resolve(file);
  let text: string;
  try {
    text = (await readRegularFile(path, MAX_FILE_BYTES)).toString('utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw toFileError(error, path, 'read');
  }
  try {
    // JSON is YAML too.
    const { parse } = await import('yaml');
    return parse(text, { maxAliasCount: 100, logLevel: 'error' }) ?? [];
  } catch {
    throw badInput(safeMessage`${path} is neither YAML nor JSON. Correct the file.`);
  }
}
