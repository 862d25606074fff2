import { readFile } from 'node:fs/promises';
import { toFileError } from './file-error';

/** What a file of JSON holds; `value` is undefined where it is none. Undefined where there is no file. Errors: those of `fileFault`. */
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
