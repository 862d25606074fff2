// @ts-check
import { createPrivateKey } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';

const require = createRequire(import.meta.url);

/** Password of the bundle that an example uploads. */
export const BUNDLE_PASSWORD = 'demo-bundle';
/** A user whose last day is over. */
export const LEAVER = 'a.smith';

/**
 * What examples read from disk, written to `folder`: what stands for it in their Inject nodes, by the property that names it.
 * @param {string} folder
 * @returns {Record<string, string>}
 */
export function writeCertificates(folder) {
  /** @type {typeof import('../../src/simulator/index.js')} */
  const { selfSigned } = require('../../dist/src/simulator/index.js');
  const { cert, key } = selfSigned(['vpn.example.com']);
  const locked = createPrivateKey(key).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: BUNDLE_PASSWORD });
  const places = { file: join(folder, 'device.pem'), filename: join(folder, 'signed.pem') };
  writeFileSync(places.file, `${cert}${String(locked)}`);
  writeFileSync(places.filename, cert);
  return places;
}

/**
 * A desired state, as a file in that folder.
 * @param {string} folder
 */
export function writeDesiredState(folder) {
  const file = join(folder, 'desired-state.yaml');
  const role = 'users/user-roles/user-role';
  writeFileSync(
    file,
    `- path: ${role}/Users\n  body: { description: Kept by Node-RED }\n- path: ${role}/Night shift\n  body: { description: From 22:00 on }\n`,
  );
  return file;
}

/**
 * Life on the appliance, so that every button of the examples has something to show: a load that crosses the line with every second look, and
 * an account whose last day has passed, and somebody who signs in from elsewhere.
 * @param {import('../../src/simulator/index.js').Simulator} simulator
 */
export async function liven(simulator) {
  const { username, password, realm } = simulator.state.settings;
  /** @type {typeof import('../../src/index.js')} */
  const { Gateway } = require('../../dist/src/index.js');
  const gateway = new Gateway({ url: simulator.url, username, password, realm, tls: { ca: simulator.ca } });
  const yesterday = new Date(Date.now() - 86_400_000).toLocaleDateString('sv');
  await gateway.run('users.create', {
    server: 'System Local',
    username: LEAVER,
    fullname: `Ann Smith (leaves ${yesterday})`,
    'password-cleartext': 'of the demo',
    enabled: true,
  });
  gateway.close();
  simulator.state.sessions.add({ 'active-user-name': LEAVER });
  /** @type {string | undefined} */
  let traveler;
  simulator.fault({
    // A traveler: at every check of the sessions, another one is signed in from a foreign network.
    match: ({ path }) => {
      if (!path.includes('active-users?number=') || !path.endsWith('start=0')) return false;
      if (traveler !== undefined) simulator.state.sessions.end(traveler);
      traveler = simulator.state.sessions.add({ 'active-user-name': 'traveler', 'source-ip': '203.0.113.77' });
      return false;
    },
    times: Infinity,
  });
  let looks = 0;
  simulator.fault({
    match: ({ path }) => path.includes('healthcheck'),
    times: Infinity,
    body: (answer) => JSON.stringify({ ...JSON.parse(answer), 'CPU-UTILIZATION4': looks++ % 2 === 0 ? 7 : 93 }),
  });
}
