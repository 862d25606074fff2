import { readFile } from 'node:fs/promises';
import { toFileError } from './file-error';

/**
 * Reads a JSON file. Returns undefined when the file does not exist; `value` is undefined when it is not JSON. Errors: those of
 * `toFileError`.
 */
export async function readJsonFile(file: string): Promise<{ readonly value: unknown } | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw toFileError(error, file, 'read');
  }
  try {
    return { value: JSON.parse(text.replace(/^\ufeff/, '')) };
  } catch {
    return { value: undefined };
  }
}
