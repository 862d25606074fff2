import { readRegularFile } from './open-regular-file';
import { toFileError } from './file-error';

/** Maximum size. Larger files in a folder of this package are damaged or foreign. */
const MAX_JSON_FILE_BYTES = 64 * 1024 * 1024;

/**
 * Reads a JSON file. Returns undefined when the file does not exist; `value` is undefined when it is not JSON. Errors: those of
 * `toFileError`.
 */
export async function readJsonFile(file: string): Promise<{ readonly value: unknown } | undefined> {
  let text: string;
  try {
    text = (await readRegularFile(file, MAX_JSON_FILE_BYTES)).toString('utf8');
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
