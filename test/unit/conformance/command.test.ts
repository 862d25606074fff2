import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runConformanceCommand } from '../../../src/conformance/command';
import { createTestClock } from '../../helpers/conformance';
import { listRequests, simulatorCertificate, startTestSimulator } from '../../helpers/simulated-appliance';
import { createTemporaryFolder } from '../../helpers/temporary';

interface CommandRun {
  readonly code: number;
  readonly printed: string;
  readonly errors: string;
}

async function run(args: readonly string[], env: Record<string, string> = { GATEWAY_PASSWORD: 'simulator' }): Promise<CommandRun> {
  let printed = '';
  let errors = '';
  const code = await runConformanceCommand(args, {
    env,
    print: (text) => void (printed += text),
    printError: (text) => void (errors += text),
    limits: { clock: createTestClock() },
  });
  return { code, printed, errors };
}

function argumentsFor(url: string, out: string): string[] {
  const caFile = join(createTemporaryFolder(), 'ca.pem');
  writeFileSync(caFile, simulatorCertificate.cert);
  return ['--url', url, '--realm', 'Admin Users', '--username', 'api-admin', '--ca-file', caFile, '--out', out];
}

describe('gateway-conformance', () => {
  it('the conformance command writes the report and the profile, with the password from the environment', async () => {
    const simulator = await startTestSimulator();
    const out = join(createTemporaryFolder(), 'result');
    const { code, printed, errors } = await run(argumentsFor(simulator.url, out));
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(readdirSync(out).sort()).toEqual(['conformance.md', 'profile.json']);
    expect(readFileSync(join(out, 'conformance.md'), 'utf8')).toMatch(/^# Conformance of an appliance\n\nRelease: 25\.1R3\.1\./);
    const profile = JSON.parse(readFileSync(join(out, 'profile.json'), 'utf8')) as object;
    expect(profile).toMatchObject({ format: 'gateway-profile/1', release: '25.1R3.1', variants: { deadKeyStatus: 401 } });
    expect(printed).toContain('The check ran to its end.');
    // The simulator starts with it.
    const copy = await startTestSimulator({ profile: join(out, 'profile.json') });
    expect(copy.state.variants.deadKeyStatus).toBe(401);
  });

  it('the conformance command exits with 2 and writes what it found if the login fails', async () => {
    const simulator = await startTestSimulator({ variants: { restAccess: false } });
    const out = createTemporaryFolder();
    const { code, errors } = await run(argumentsFor(simulator.url, out));
    expect(code).toBe(2);
    expect(errors).toContain('the login failed (FORBIDDEN, status 403)');
    expect(JSON.parse(readFileSync(join(out, 'profile.json'), 'utf8'))).toMatchObject({ variants: { restAccess: false } });
  });

  it('the conformance command exits with 2 and sends nothing if an option is missing or wrong', async () => {
    const simulator = await startTestSimulator();
    const out = createTemporaryFolder();
    const complete = argumentsFor(simulator.url, out);
    const without = (name: string): string[] => complete.filter((_, at) => complete[at] !== name && complete[at - 1] !== name);
    const cases: [string[], string, Record<string, string>?][] = [
      [without('--url'), '--url is missing'],
      [without('--out'), '--out is missing'],
      [[...complete, '--writes'], 'Add --yes to confirm'],
      [[...complete, '--rate', 'fast'], '--rate takes a number'],
      [[...complete, '--max-requests', '0'], 'maxRequests must be'],
      [[...complete, '--password', 'x'], 'Unknown option'],
      [complete, 'password', {}],
    ];
    for (const [args, message, env] of cases) {
      const { code, errors } = await run(args, env);
      expect(code, message).toBe(2);
      expect(errors).toContain(message);
    }
    expect(listRequests(simulator)).toEqual([]);
    expect(simulator.logins).toBe(0);
  });

  it('the conformance command prints its options with --help', async () => {
    const { code, printed } = await run(['--help']);
    expect(code).toBe(0);
    expect(printed).toContain('--out <folder>');
  });
});
