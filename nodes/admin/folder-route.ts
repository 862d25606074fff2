import { asGatewayError, badInput } from '../../src/model/error';
import { Redactor } from '../../src/model/redaction';
import { createPostRoute } from './admin-route';
import { UserFolderBrowser } from './user-folders';

/**
 * `POST /gateway-appliance/folders` lists the folders below the user directory of Node-RED for `{ path }`, and creates one for
 * `{ path, create }`.
 */
export const folderRoute = createPostRoute('/gateway-appliance/folders', async (red, { path, create }) => {
  try {
    const { userDir } = red.settings;
    if (typeof userDir !== 'string' || userDir === '') throw badInput('This Node-RED has no user directory.');
    const folders = new UserFolderBrowser(userDir);
    const text = typeof path === 'string' ? path : '';
    return { ok: true, ...(typeof create === 'string' ? await folders.create(text, create.trim()) : await folders.list(text)) };
  } catch (thrown) {
    const error = asGatewayError(thrown);
    return { ok: false, code: error.code, message: new Redactor().message(error) };
  }
});
