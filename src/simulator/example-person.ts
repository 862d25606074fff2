import type { Simulator } from './simulator';

const USER_NAME = 'j.doe';
const SERVER = 'System Local';
const ADDRESSES = ['198.51.100.7', '203.0.113.9'];

/** Adds the user of the example flows, with an account and two sessions, so that an imported example works at the first click. */
export function addExamplePerson({ state: { configuration, sessions } }: Simulator): void {
  configuration
    .collection('authentication', 'auth-servers', 'auth-server', SERVER, 'local', 'users', 'user')
    .add({ username: USER_NAME, fullname: 'Jane Doe', 'password-cleartext': 'initial-jane', enabled: 'true' });
  for (const address of ADDRESSES)
    sessions.add({ 'active-user-name': USER_NAME, 'source-ip': address, 'primary-auth-server-name': SERVER });
}
