import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, expect, it } from 'vitest';
import { startNodeRed } from '../../scripts/demo/node-red.mjs';
import { startTestSimulator, simulatorCertificate } from '../helpers/simulated-appliance';

// What goes to a chat or a mail is written where Node-RED runs, not where an editor is open.
it.each([
  ['de', '3 Sitzungen', 'Sitzungen auflisten: fehlgeschlagen (NOT_FOUND).'],
  ['ja', '3', 'NOT_FOUND'],
])('a Node-RED whose language is %s writes its summaries in it', async (lang, listed, failed) => {
  const simulator = await startTestSimulator({ sessions: 3 });
  const userDir = mkdtempSync(join(tmpdir(), 'gateway-language-'));
  onTestFinished(() => rmSync(userDir, { recursive: true, force: true, maxRetries: 5 }));
  const ca = join(userDir, 'ca.pem');
  writeFileSync(ca, simulatorCertificate.cert);
  const own = { z: 'tab', appliance: 'vpn', failures: 'output' };
  const nodeRed = await startNodeRed({
    userDir,
    version: 4,
    settings: { lang },
    flows: [
      { id: 'tab', type: 'tab', label: 'languages' },
      { id: 'tls', type: 'tls-config', ca, cert: '', key: '', verifyservercert: true },
      { id: 'vpn', type: 'gateway-appliance', name: 'vpn-1', url: simulator.url, login: 'realm', realm: 'Admin Users', tls: 'tls' },
      { id: 'in', type: 'http in', z: 'tab', url: '/sessions', method: 'get', wires: [['sessions']] },
      { id: 'sessions', type: 'gateway-sessions', ...own, operation: 'list', wires: [['say'], ['say']] },
      {
        id: 'say',
        type: 'change',
        z: 'tab',
        rules: [{ t: 'set', p: 'payload', pt: 'msg', to: 'envelope.summary', tot: 'msg' }],
        wires: [['out']],
      },
      { id: 'out', type: 'http response', z: 'tab', wires: [] },
    ],
    credentials: { vpn: { username: 'api-admin', password: 'simulator' } },
  });
  onTestFinished(() => nodeRed.stop());
  const said = async (): Promise<string> => (await fetch(`${nodeRed.url}/sessions`)).text();
  expect(await said()).toContain(listed);
  simulator.fault({ match: ({ path }) => path.includes('active-users'), status: 404 });
  expect(await said()).toContain(failed);
});
