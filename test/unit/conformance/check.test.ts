import { describe, expect, it } from 'vitest';
import { compareProfiles, type ConformanceProfile } from '../../../src/conformance';
import { issueCertificate, type KeyPair } from '../../../src/simulator';
import { checkSimulator, createTestClock } from '../../helpers/conformance';
import { findSecret } from '../../helpers/secret-encodings';
import {
  expectFailure,
  listRequests,
  listWriteLines,
  settingsFor,
  simulatorCertificate,
  startTestSimulator,
} from '../../helpers/simulated-appliance';
import { PLANTED, startStrictAppliance } from '../../helpers/strict-appliance';

/** What a profile says of the reads with the API key, by path. */
function readsOf({ endpoints }: ConformanceProfile): Record<string, object> {
  const reads = endpoints.filter(({ method, credentials }) => method === 'GET' && credentials === undefined);
  return Object.fromEntries(reads.map(({ path, status, body, keys }) => [path, { status, body, keys }]));
}

describe('checkConformance', () => {
  it('checkConformance detects the behavior of a server that is independent of the simulator', async () => {
    const { profile, report, failure } = await checkSimulator(await startStrictAppliance(), { writes: true });
    expect(failure).toBeUndefined();
    expect(profile.release).toBe('22.8R2.1');
    expect(profile.variants).toMatchObject({
      deadKeyStatus: 403,
      legacyLogin: 'unsupported',
      startCountsFrom: 0,
      ignoresStart: false,
      isLastRecord: 'beside',
      isLastRecordSpelling: 'Is-last-record',
      totals: 'text',
      noRecords: 'no-container',
      nullKeys: 'mixed',
      nameFilter: 'exact',
      collectionInParent: 'link',
      entryLinks: 'none',
      userEntries: 'whole',
      uac: 'absent',
      cpuKey: 'CPU-UTILIZATION',
      healthNumbers: 'text',
      wrongMethodStatus: 405,
      xmlEndpoints: false,
      createStatus: 200,
      updateStatus: 200,
      deleteStatus: 200,
      putMerges: false,
      errorsInSuccess: false,
      wrongPasswordStatus: 401,
    });
    expect(report).toContain('Responses have an ETag.');
    // It ignores If-Match.
    expect(profile.variants).toMatchObject({ etags: false, tlsVersion: 'TLSv1.3' });
    expect(report).toContain('active-users/active-user-records/active-user-record/[]/posture-level');
  });

  it('checkConformance writes a profile with which the simulator answers every probe in the same way', async () => {
    const original = (await checkSimulator(await startStrictAppliance())).profile;
    const simulator = await startTestSimulator({ profile: original });
    const copy = (await checkSimulator(simulator)).profile;
    expect(readsOf(copy)).toMatchObject(readsOf(original));
    expect(copy.variants).toMatchObject(original.variants);
    expect(compareProfiles(original, copy)).toEqual([]);
    expect(copy.release).toBe(original.release);
  });

  it('checkConformance puts no name, address or secret of the appliance into its report or profile', async () => {
    const steps: string[] = [];
    const appliance = await startStrictAppliance();
    const onProgress = ({ step }: { step: string }): void => void steps.push(step);
    const { profile, report } = await checkSimulator(appliance, { writes: true, onProgress }, { name: 'Secret appliance name' });
    const text = `${report}\n${JSON.stringify(profile)}\n${steps.join('\n')}`;
    const { username, password, realm } = settingsFor(appliance);
    const settings = {
      username: username ?? '',
      password: password ?? '',
      realm: realm ?? '',
      name: 'Secret appliance name',
      port: String(appliance.port),
    };
    expect(findSecret(text, { ...PLANTED, ...settings })).toBeUndefined();
    for (const word of Object.values(PLANTED)) expect(text.toLowerCase()).not.toContain(word.toLowerCase());
    expect(text).toContain('"*"');
  });

  it('checkConformance reports the TLS version, the cipher, the end of the certificate and its chain', async () => {
    const expiring = issueCertificate(simulatorCertificate, { days: 5, names: ['127.0.0.1'] });
    const cases: [KeyPair, string[]][] = [
      [simulatorCertificate, ['The TLS certificate is trusted.', 'The certificate is self-signed.', 'more days.']],
      [expiring, ['The certificate ends in', 'Nodes do not connect afterward.', 'The chain has 2 certificates']],
    ];
    for (const [tls, lines] of cases) {
      const simulator = await startTestSimulator({ tls });
      const { report } = await checkSimulator(simulator, { maxRequests: 12 });
      expect(report).toMatch(/- TLS: TLSv1\.3, TLS_[A-Z0-9_]+\./);
      for (const line of lines) expect(report).toContain(line);
    }
  });

  it('checkConformance reports whether the login asks for a second factor, and logs in once', async () => {
    const simple = await startTestSimulator();
    expect((await checkSimulator(simple)).report).toContain('The login gives a key at once, without a second factor.');
    expect(simple.logins).toBe(1);
    const simulator = await startTestSimulator({ secondFactor: { password: PLANTED.secret } });
    const { report } = await checkSimulator(simulator, {}, { secondFactor: 'password', secondPassword: PLANTED.secret });
    expect(report).toContain('The login gives a key after 2 steps, so the realm asks for a second factor.');
    expect(findSecret(report, { secret: PLANTED.secret })).toBeUndefined();
  });

  it('checkConformance reports the vendor, the brand, and keys that are not documented', async () => {
    const simulator = await startTestSimulator({ vendor: 'zenith', brand: 'Nova', variants: { userFields: 'policy' } });
    const { report } = await checkSimulator(simulator);
    expect(report).toContain('- Vendor in a key: `zenith-enforcer`.');
    expect(report).toContain('- Brand in a key: `nova-client-version`.');
    const [, differences = ''] = report.split('## Keys and kinds that differ from the interface description');
    expect(differences.split('\n## ')[0]?.trim()).toBe(
      '- `GET /api/v1/configuration/authentication/auth-servers/auth-server/*/local/users/user/*`: not documented: `user-timezone`, `guestcreatedby`, `attributes-table`.',
    );
  });

  it('checkConformance sends only reads and its own login unless writes are allowed', async () => {
    const simulator = await startTestSimulator();
    await checkSimulator(simulator);
    expect(listWriteLines(simulator)).toEqual([]);
    expect(simulator.logins).toBe(1);
  });

  it('checkConformance sends at most 200 requests, and four per second on average', async () => {
    const simulator = await startTestSimulator({ sessions: 250 });
    const clock = createTestClock();
    const starts: number[] = [];
    await checkSimulator(simulator, { writes: true, clock, onProgress: () => void starts.push(clock.time) });
    expect(listRequests(simulator).length).toBeLessThanOrEqual(200);
    expect(starts.length).toBeGreaterThan(80);
    const inWindow = (from: number, ms: number): number => starts.filter((at) => at >= from && at < from + ms).length;
    // Eight at once are the only burst. No other request is within two seconds of it.
    expect(Math.max(...starts.map((at) => inWindow(at, 2000)))).toBe(8);
    const withoutBurst = starts.filter((at) => inWindow(at, 1) === 1);
    expect(withoutBurst).toHaveLength(starts.length - 8);
    expect(Math.max(...withoutBurst.map((at) => inWindow(at, 1000)))).toBe(4);
  });

  it('checkConformance returns its results so far when it reaches its request limit', async () => {
    const simulator = await startTestSimulator();
    const { profile, report, failure } = await checkSimulator(simulator, { maxRequests: 12 });
    expect(listRequests(simulator)).toSatisfy((requests: unknown[]) => requests.length > 4 && requests.length <= 12);
    expect(failure).toContain('LIMIT');
    expect(report).toContain('The check ended early');
    expect(profile.variants['deadKeyStatus']).toBe(401);
  });

  it('checkConformance removes the objects that it created, and checks that they are gone', async () => {
    const appliance = await startStrictAppliance();
    const { report } = await checkSimulator(appliance, { writes: true });
    expect(appliance.requests.some(({ method }) => method === 'POST')).toBe(true);
    expect(appliance.listCreated()).toEqual([]);
    expect(report).toContain('The user role is removed: a read gets 404, a second DELETE 404.');
  });

  it('checkConformance reports what remains if a removal fails', async () => {
    const appliance = await startStrictAppliance();
    appliance.keepsAll = true;
    const { report } = await checkSimulator(appliance, { writes: true });
    expect(appliance.listCreated()).toHaveLength(2);
    expect(report).toMatch(
      /## Left on the appliance\n\n- \*\*the local user \(in auth server number 1 of the list\) named Conformance-[0-9a-f]{8}/,
    );
    expect(report).toMatch(/the user role named Conformance-[0-9a-f]{8}: the DELETE got 500, a read 200/);
  });

  it('checkConformance removes the objects that it created even if it is canceled', async () => {
    const appliance = await startStrictAppliance();
    const controller = new AbortController();
    const onProgress = ({ step }: { step: string }): void => {
      if (step.startsWith('PUT ')) controller.abort();
    };
    const error = await expectFailure(checkSimulator(appliance, { writes: true, onProgress, signal: controller.signal }));
    expect(error.code).toBe('ABORTED');
    expect(appliance.listCreated()).toEqual([]);
  });

  it('checkConformance removes an object that the appliance stored in lower case, even after a cancellation', async () => {
    const appliance = await startStrictAppliance();
    appliance.filesInLowerCase = true;
    const controller = new AbortController();
    let hasCreated = false;
    const onProgress = ({ step }: { step: string }): void => {
      if (hasCreated) controller.abort();
      hasCreated ||= step.startsWith('POST ') && step.includes('/local/users/user');
    };
    const error = await expectFailure(checkSimulator(appliance, { writes: true, onProgress, signal: controller.signal }));
    expect(error.code).toBe('ABORTED');
    expect(appliance.requests.filter(({ method }) => method === 'POST' || method === 'DELETE').length).toBeGreaterThan(2);
    expect(appliance.listCreated()).toEqual([]);
  });

  it('checkConformance fails with the connection error if nothing answers', async () => {
    const error = await expectFailure(checkSimulator({ url: 'https://127.0.0.1:1' }));
    expect(error.code).toBe('CONNECTION');
  });

  it('checkConformance refuses to write if a setting forbids writes, but still reads', async () => {
    const simulator = await startTestSimulator();
    for (const guard of [{ permissions: 'no-destroy' }, { permissions: 'read-only' }, { dryRun: true }, { pin: '0123456789' }] as const) {
      const error = await expectFailure(checkSimulator(simulator, { writes: true }, guard));
      expect(error).toMatchObject({ code: 'LIMIT', details: { sent: false } });
      expect(error.message).toContain(Object.keys(guard)[0]);
    }
    expect(simulator.requests).toEqual([]);
    expect((await checkSimulator(simulator, {}, { permissions: 'read-only' })).failure).toBeUndefined();
  });
});
