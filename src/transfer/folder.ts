import { access, constants, stat } from 'node:fs/promises';
import { badInput } from '../model/error';
import { sentence } from '../model/sentence';
import { fileFault } from './file-fault';

/** Whether something can be written there, told before anything is sent. Errors: `BAD_INPUT`. */
export async function checkFolder(folder: string): Promise<void> {
  try {
    if (!(await stat(folder)).isDirectory()) throw badInput(sentence`${folder} is no folder.`);
    await access(folder, constants.W_OK);
  } catch (error) {
    throw fileFault(error, folder, 'written');
  }
}
