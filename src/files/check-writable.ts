import { access, constants, stat } from 'node:fs/promises';
import { badInput } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { toFileError } from './file-error';

/** Whether something can be written there, told before anything is sent. Errors: `BAD_INPUT`. */
export async function checkFolderWritable(folder: string): Promise<void> {
  try {
    if (!(await stat(folder)).isDirectory()) throw badInput(safeMessage`${folder} is no folder.`);
    await access(folder, constants.W_OK);
  } catch (error) {
    throw toFileError(error, folder, 'written');
  }
}
