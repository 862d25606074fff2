// @ts-check
import { join } from 'node:path';
import { root } from '../tools.mjs';

/** @typedef {import('../../src/simulator/index.js').Simulator} Simulator */

/** A user with three sessions. */
export const USER = 'j.doe';
const ADDRESSES = ['198.51.100.7', '198.51.100.8', '203.0.113.9'];
const SERVER = 'System Local';

/** @param {Simulator} simulator */
const accounts = ({ state }) =>
  state.configuration.collection('authentication', 'auth-servers', 'auth-server', SERVER, 'local', 'users', 'user');

/** The three sessions of that user. @param {Simulator} simulator */
export function signIn({ state: { sessions } }) {
  for (const address of ADDRESSES) {
    sessions.add({ 'active-user-name': USER, 'source-ip': address, 'primary-auth-server-name': SERVER });
  }
}

/** `j.doe` as `J. Doe`. @param {string} name */
function fullName(name) {
  return name
    .split('.')
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1) + (part.length === 1 ? '.' : ''))
    .join(' ');
}

/**
 * Who is signed in has an account: the people of the sessions are those of the local server, on all appliances alike. And whose account
 * is enabled again signs in by himself, as clients do that lost their connection.
 * @param {Simulator} simulator
 * @param {Iterable<Simulator>} all
 */
export function settle(simulator, all) {
  const { sessions, settings } = simulator.state;
  const users = accounts(simulator);
  const names = new Set(sessions.findNumbers().map((index) => String(sessions.record(index)['active-user-name'])));
  // Users of the server of the administrators.
  names.delete('admin');
  names.delete(settings.username);
  // The traveler is not always signed in.
  names.add('traveler');
  for (const local of [...all].map(accounts)) {
    for (const username of names) {
      if (local.items.has(username)) continue;
      local.add({ username, fullname: fullName(username), 'password-cleartext': `initial-${username.length}`, enabled: 'true' });
    }
  }
  simulator.fault({
    match: ({ method, path }) => method === 'PUT' && path.endsWith(`/user/${USER}/enabled`),
    times: Infinity,
    sideEffect: () => {
      const enabled = users.items.get(USER)?.text('enabled') === 'true';
      if (enabled && sessions.findNumbers({ name: USER, prefix: false }).length === 0) signIn(simulator);
    },
  });
}

/** Additions to the editor for a first visit. */
export function guideSettings() {
  const folder = join(root, 'scripts', 'demo', 'guide');
  return {
    httpStatic: [{ path: folder, root: '/demo/' }],
    editorTheme: {
      tours: false,
      palette: { catalogues: [] },
      page: { title: 'Gateway administration: demo', scripts: [join(folder, 'offer.js')] },
    },
  };
}
