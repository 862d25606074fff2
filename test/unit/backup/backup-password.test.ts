import { describe, expect, it } from 'vitest';
import { canImportBinaryPassword } from '../../../src/backup/binary-password';
import type { Simulator } from '../../../src/simulator';
import { readManifestFile, takeBackup } from '../../helpers/backup';
import { expectFailure, listRequestLines, startSimulatorWithGateway } from '../../helpers/simulated-appliance';
import { createTemporaryFolder } from '../../helpers/temporary';
import { AWKWARD_PASSWORD } from '../../helpers/transfer';

const BINARY = '/api/v1/system/binary-configuration';
const ROLE = 'users/user-roles/user-role/Users';
const SECRET = { password: AWKWARD_PASSWORD };

async function startWithBinaryPassword(release = '22.7R2.3') {
  const started = await startSimulatorWithGateway({ variants: { binaryPassword: true } });
  started.simulator.state.system.release = release;
  const describeRole = async (description?: string): Promise<unknown> => {
    if (description !== undefined) await started.gateway.run('config.update', { path: ROLE, body: { description } });
    return ((await started.gateway.run('config.get', { path: ROLE })).data as { description: string }).description;
  };
  return { ...started, describeRole };
}

/** Returns the passwords in the URLs of the imports. */
function listImportPasswords(simulator: Simulator): (string | null)[] {
  return listRequestLines(simulator)
    .filter((line) => line.startsWith(`PUT ${BINARY}`))
    .map((line) => new URL(line.slice(4), 'https://x').searchParams.get('password'));
}

describe('a binary configuration with a password', () => {
  it('a binary configuration that was exported with a password can be imported only with that password', async () => {
    const { simulator, gateway, describeRole } = await startWithBinaryPassword();
    await describeRole('before');
    const { data, envelope } = await gateway.run('transfer.export-binary', SECRET);
    expect(envelope.verified).toBe('base64');
    await describeRole('after');
    expect((await expectFailure(gateway.run('transfer.import-binary', { data }))).code).toBe('REJECTED');
    expect((await expectFailure(gateway.run('transfer.import-binary', { data, password: 'wrong' }))).code).toBe('REJECTED');
    expect(await describeRole()).toBe('after');
    const imported = await gateway.run('transfer.import-binary', { data, import: 'normal', ...SECRET });
    expect(await describeRole()).toBe('before');
    expect(listImportPasswords(simulator)).toEqual([null, 'wrong', AWKWARD_PASSWORD]);
    expect(imported.envelope.request).toEqual({ method: 'PUT', path: BINARY, query: { import: 'normal', password: '••••' } });
  });

  it('an export with a password does not show the password in a plan, an error or the exchange log', async () => {
    const { simulator, gateway } = await startWithBinaryPassword();
    const shown: unknown[] = [];
    const input = { data: 'UEsDBA==', ...SECRET };
    shown.push((await gateway.run('transfer.import-binary', input, { dryRun: true })).envelope);
    const echo = JSON.stringify({ result: { errors: [{ message: `Refused: ${AWKWARD_PASSWORD}` }] } });
    simulator.fault({ match: ({ method }) => method === 'PUT', status: 422, body: echo });
    const error = await expectFailure(gateway.run('transfer.import-binary', input));
    shown.push(error.message, error.cause, gateway.exchanges(), (await gateway.run('system.support-bundle')).data);
    for (const text of [JSON.stringify(shown), decodeURIComponent(JSON.stringify(shown).replaceAll('%', '%25'))])
      for (const form of [AWKWARD_PASSWORD, JSON.stringify(AWKWARD_PASSWORD).slice(1, -1), encodeURIComponent(AWKWARD_PASSWORD)])
        expect(text).not.toContain(form);
  });

  it.each<[string | null, boolean]>([
    ['22.7R2.3', true],
    ['22.7R2.10', true],
    ['22.7R3', true],
    ['22.8R1', true],
    ['22.8R2.2', true],
    ['22.7R2.2', false],
    ['22.7R2', false],
    ['22.8R2.3', false],
    ['23.1R1', false],
    ['9.1R18', false],
    ['unknown', false],
    [null, false],
  ])('a binary configuration with a password can be restored on release %s: %s', (release, expected) => {
    expect(canImportBinaryPassword(release)).toBe(expected);
  });
});

describe('a backup of the binary configuration with a password', () => {
  it.each(['binary', 'both'])('a binary backup with a password is encrypted and restored with the password: %s', async (what) => {
    const { simulator, gateway, describeRole } = await startWithBinaryPassword();
    const folder = createTemporaryFolder();
    await describeRole('before');
    const created = await takeBackup(gateway, { folder, what, ...SECRET });
    const [file] = readManifestFile(created).files.filter(({ kind }) => kind === 'binary');
    expect(file).toMatchObject({ 'password-protected': true, content: { verified: 'base64' } });
    await describeRole('after');
    const restore = { folder, backup: created.backup, kind: 'binary' };
    const missing = await expectFailure(gateway.run('backup.restore', restore));
    expect([missing.code, missing.message]).toEqual(['BAD_INPUT', expect.stringContaining('made with a password')]);
    expect(listImportPasswords(simulator)).toEqual([]);
    await gateway.run('backup.restore', { ...restore, ...SECRET });
    expect([await describeRole(), listImportPasswords(simulator)]).toEqual(['before', [AWKWARD_PASSWORD]]);
  });

  it('a binary backup is made without a password, with a warning, if the release cannot import one with a password', async () => {
    const { simulator, gateway } = await startWithBinaryPassword('25.1R3.1');
    const folder = createTemporaryFolder();
    const { data, envelope } = await gateway.run('backup.run', { folder, what: 'binary', ...SECRET });
    expect(envelope.warnings).toEqual([expect.stringContaining('was exported without the password')]);
    expect((data as { changed: boolean }).changed).toBe(true);
    await gateway.run('backup.restore', { folder, backup: 'latest', ...SECRET });
    expect(listImportPasswords(simulator)).toEqual([null]);
    expect((await gateway.run('backup.run', { folder, ...SECRET })).envelope).not.toHaveProperty('warnings');
  });
});
