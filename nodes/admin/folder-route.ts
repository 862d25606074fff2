import type { NodeAPI } from 'node-red';
import { asGatewayError, badInput } from '../../src/model/error';
import { Redactor } from '../../src/model/redaction';
import { registerAdminRoute } from './admin-route';
import { UserFolders } from './user-folders';

/**
 * `POST /gateway-appliance/folders` lists the folders below the user directory of Node-RED for `{ path }`, and creates one for
 * `{ path, create }`.
 */
export function registerFolderRoute(red: NodeAPI): void {
  registerAdminRoute(red, '/gateway-appliance/folders', async ({ path, create }) => {
    try {
      const { userDir } = red.settings;
      if (typeof userDir !== 'string' || userDir === '') throw badInput('This Node-RED has no user directory.');
      const folders = new UserFolders(userDir);
      const text = typeof path === 'string' ? path : '';
      return { ok: true, ...(typeof create === 'string' ? await folders.create(text, create.trim()) : await folders.list(text)) };
    } catch (thrown) {
      const error = asGatewayError(thrown);
      return { ok: false, code: error.code, message: new Redactor().message(error) };
    }
  });
}
