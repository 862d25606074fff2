import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { tabulateAudits } from '../../../src/audit/tabulate-audits';
import { startSimulatorWithGateway } from '../../helpers/simulated-appliance';
import { getUserRoles } from '../../helpers/snapshot';
import { startWatch } from '../../helpers/watch';

it('a watch of the audit sends new and solved findings, with the rules of a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-audit-watch-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const rules = join(folder, 'rules.yaml');
  writeFileSync(
    rules,
    '- { id: own-name, severity: low, title: Night, path: users/user-roles/user-role/*, condition: name = "Night", fix: Rename it. }',
  );
  const { simulator, gateway } = await startSimulatorWithGateway({}, { name: 'vpn-1' });
  const { watcher, events, takePayloads, states } = await startWatch(gateway, {
    watch: 'audit',
    rules,
    off: ['unused-object', 'duplicate-object'],
  });
  await watcher.check();
  expect([events, states.at(-1)]).toMatchObject([[], { state: 'checked', summary: { key: 'findings' } }]);
  getUserRoles(simulator).add({ name: 'Night' });
  await watcher.check();
  expect(takePayloads()).toMatchObject([{ event: 'new', findings: [{ rule: 'own-name', name: 'Night' }] }]);
  getUserRoles(simulator).items.delete('Night');
  await watcher.check();
  expect(takePayloads()).toMatchObject([{ event: 'solved', findings: [{ rule: 'own-name', name: 'Night' }] }]);
});

it('an audit of several appliances returns a table with the number of findings by rule', async () => {
  const audits = await Promise.all(
    ['vpn-1', 'vpn-2', 'vpn-3'].map(async (name, extra) => {
      const { simulator, gateway } = await startSimulatorWithGateway({}, { name });
      for (let number = 0; number < extra; number++) getUserRoles(simulator).add({ name: `Idle ${number}`, description: `${number}` });
      return (await gateway.run('audit.run')).data;
    }),
  );
  const rows = tabulateAudits(audits).rows;
  const [first] = rows;
  const unused = Number(first?.['unused-object']);
  expect(rows.map((row) => [row['appliance'], row['unused-object']])).toEqual([
    ['vpn-1', unused],
    ['vpn-2', unused + 1],
    ['vpn-3', unused + 2],
  ]);
  expect(rows.every((row) => row['release-not-listed'] === null)).toBe(true);
});
