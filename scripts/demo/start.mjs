// @ts-check
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../tools.mjs';
import { Cleanups } from './cleanups.mjs';
import { dashboardFolders } from './dashboard.mjs';
import { applianceNames, exampleNames, loadExamples, readExample, waitsForCode } from './examples.mjs';
import { BUNDLE_PASSWORD, liven, writeCertificates, writeDesiredState } from './lively.mjs';
import { guideSettings, settle, signIn, USER } from './people.mjs';
import { startNodeRed } from './node-red.mjs';

/** The secret of the example webhook. */
export const TOKEN = 'demo-secret';
export { USER };
/** The one-time code of the second appliance, which requires a second factor. */
export const CODE = '246810';

/**
 * What an appliance of that name is.
 * @param {string} name
 */
const roleOf = (name) => (name.startsWith('license') ? 'license-server' : 'independent');

/**
 * @typedef {Awaited<ReturnType<typeof startDemo>>} Demo
 */

/**
 * An appliance with a fresh certificate, a second one that asks for a code and others where an example needs them, and a Node-RED with examples
 * that trusts them all, from what is built. Ends what it has started if one of them fails.
 * @param {{
 *   names?: string[],
 *   simulator?: import('../../src/simulator/index.js').SimulatorOptions,
 *   nodeRed?: Partial<import('./node-red.mjs').Options>,
 *   ca?: (ca: string) => string,
 *   lively?: boolean,
 *   guide?: boolean,
 *   onEnd?: (end: () => Promise<void>) => void,
 * }} [options] `names` of the examples, default all; `ca` replaces the certificate to trust; `lively`: something happens on the appliance, for
 *   whoever tries the examples; `guide`: the editor opens with *Start here* and offers a tour; `onEnd` is told early how to end everything
 */
export async function startDemo({
  names = exampleNames(),
  simulator: appliance,
  nodeRed: options,
  ca = (own) => own,
  lively = false,
  guide = false,
  onEnd,
} = {}) {
  const cleanups = new Cleanups();
  const end = () => cleanups.end();
  onEnd?.(end);
  try {
    /** @type {typeof import('../../src/simulator/index.js')} */
    const { startSimulator, selfSigned } = createRequire(import.meta.url)('../../dist/src/simulator/index.js');
    const userDir = mkdtempSync(join(tmpdir(), 'gateway-demo-'));
    cleanups.push(() => rmSync(userDir, { recursive: true, force: true, maxRetries: 5 }));
    const tls = selfSigned();
    const [first = '', ...more] = applianceNames(names);
    const simulator = await startSimulator({ sessions: 40, cluster: 'active-passive', role: roleOf(first), tls, ...appliance });
    cleanups.push(() => simulator.close());
    const asksForCode = names.flatMap(readExample).some(waitsForCode);
    const second = asksForCode
      ? await startSimulator({ name: 'gateway-2', secondFactor: { password: CODE }, tls, ...appliance })
      : undefined;
    cleanups.push(() => second?.close());
    /** @type {Map<string, import('../../src/simulator/index.js').Simulator>} */
    const appliances = new Map([[first, simulator]]);
    for (const name of more) {
      // The same appliance with other settings.
      if (name.startsWith(`${first} with `)) {
        appliances.set(name, simulator);
        continue;
      }
      const other = await startSimulator({ name, role: roleOf(name), tls, ...appliance });
      cleanups.push(() => other.close());
      appliances.set(name, other);
    }
    signIn(simulator);
    settle(simulator, appliances.values());
    // The debug pane shows only messages of the visible flow.
    if (guide) writeFileSync(join(userDir, '.config.users.json'), JSON.stringify({ _: { debug: { filter: 'filterCurrent' } } }));
    const caFile = join(userDir, 'appliance-ca.pem');
    writeFileSync(caFile, ca(simulator.ca));
    const { username, password } = simulator.state.settings;
    const folder = join(userDir, 'backups');
    mkdirSync(folder);
    const urls = new Map([...appliances].map(([name, { url }]) => [name, url]));
    const places = {
      folder,
      snapshots: join(userDir, 'snapshots'),
      accepted: join(userDir, 'accepted'),
      night: join(userDir, 'last-night'),
      journal: join(userDir, 'journal'),
      state: writeDesiredState(userDir),
      ...writeCertificates(userDir),
      ...(lively && { own: '127.0.0.1' }),
    };
    const loaded = loadExamples({ urls, codeUrl: second?.url ?? '', caFile, places, username, password, guide }, names);
    if (lively) await liven(simulator);
    const env = { WEBHOOK_TOKEN: TOKEN, CERTIFICATE_PASSWORD: BUNDLE_PASSWORD, ...options?.env };
    const nodesDir = [root, ...dashboardFolders(names)];
    const settings = { ...(guide && guideSettings()), ...options?.settings };
    const nodeRed = await startNodeRed({ userDir, version: 4, nodesDir, ...loaded, ...options, settings, env });
    cleanups.push(() => nodeRed.stop());
    return { simulator, second, appliances, folder, nodeRed, end, ended: () => cleanups.ended };
  } catch (error) {
    await end();
    throw error;
  }
}
