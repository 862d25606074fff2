import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { eventually } from '../helpers/eventually';
import { gatewayFor, startTestSimulator } from '../helpers/simulated-appliance';
import { createTemporaryFolder, writeSnapshot } from '../helpers/snapshot';

/** Rehearses one write, reports the result, and closes the gateway when a line comes. */
const SCRIPT = `
const { Gateway } = require(process.argv[1]);
const gateway = new Gateway({ url: process.argv[2], realm: 'Admin Users', rehearsal: process.argv[3] });
const path = '/system/log/syslog';
(async () => {
  await gateway.run('config.update', { path, body: { server: '192.0.2.7' } });
  const { data } = await gateway.run('config.get', { path });
  await gateway.resetRehearsal();
  const { data: reset, envelope } = await gateway.run('config.get', { path });
  console.log(JSON.stringify([data.server, reset.server, envelope.rehearsal]));
  process.stdin.once('data', () => { gateway.close(); process.stdin.destroy(); });
})();`;

it('a copy runs in a process that ends with its gateway, even if the process of the gateway crashes', async () => {
  const real = await startTestSimulator();
  const folder = createTemporaryFolder();
  await writeSnapshot(gatewayFor(real), folder);
  real.requests.length = 0;
  for (const end of ['close', 'crash']) {
    const library = join(__dirname, '../../dist/src/index.js');
    const user = spawn(process.execPath, ['-e', SCRIPT, library, real.url, folder], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [line] = (await once(createInterface(user.stdout), 'line')) as [string];
    const [written, reset, isRehearsal] = JSON.parse(line) as unknown[];
    expect([written, reset === written, isRehearsal]).toEqual(['192.0.2.7', false, true]);
    const [copy = ''] = readFileSync(`/proc/${user.pid}/task/${user.pid}/children`, 'utf8').trim().split(' ');
    expect(readFileSync(`/proc/${copy}/cmdline`, 'utf8')).toContain('copy-process');
    const exited = once(user, 'exit');
    if (end === 'close') user.stdin.write('close\n');
    else user.kill('SIGKILL');
    expect(await exited).toEqual(end === 'close' ? [0, null] : [null, 'SIGKILL']);
    await eventually(() => expect(existsSync(`/proc/${copy}`)).toBe(false));
  }
  expect(real.requests).toEqual([]);
});
