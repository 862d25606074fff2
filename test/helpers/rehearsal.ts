import { onTestFinished } from 'vitest';
import type { RunningRehearsalCopy } from '../../src/rehearsal/copy-launcher';
import { createCopyStartError } from '../../src/rehearsal/copy-launcher';
import { setRehearsalCopyLauncher } from '../../src/rehearsal/rehearsal';
import type { Simulator } from '../../src/simulator';
import { startCopy } from '../../src/simulator/copy/start-copy';
import { resetProcessState } from './reset-process-state';
import { simulatorCertificate, startTestSimulator, type AnyGateway } from './simulated-appliance';
import { createTemporaryFolder, writeSnapshot } from './snapshot';

/** Starts copies in this process, because a process for each takes a second. Returns the copies that run. */
export function startCopiesHere(): { readonly running: Simulator[]; readonly started: Simulator[] } {
  const running: Simulator[] = [];
  const started: Simulator[] = [];
  setRehearsalCopyLauncher(async (options): Promise<RunningRehearsalCopy> => {
    const tls = options.tls ?? simulatorCertificate;
    const launch = async (port: number): Promise<Simulator> => {
      const simulator = await startCopy({ ...options, tls, port }).catch((error: Error) => {
        throw createCopyStartError(error.message);
      });
      running.push(simulator);
      started.push(simulator);
      return simulator;
    };
    const end = (): Promise<void> => {
      running.splice(running.indexOf(copy), 1);
      return copy.close();
    };
    let copy = await launch(options.port);
    return {
      endpoint: { origin: copy.url, ca: tls.cert, key: tls.key },
      get hasEnded() {
        return !running.includes(copy);
      },
      reset: async () => {
        await end();
        copy = await launch(copy.port);
      },
      close: () => void (running.includes(copy) && end()),
    };
  });
  onTestFinished(async () => {
    setRehearsalCopyLauncher();
    await Promise.all(running.splice(0).map((copy) => copy.close()));
    resetProcessState();
  });
  return { running, started };
}

/** A simulated appliance, a snapshot of it, and copies in this process. The appliance forgets the requests of the snapshot. */
export async function prepareRehearsal(
  take: (simulator: Simulator) => AnyGateway,
): Promise<{ real: Simulator; folder: string; copies: ReturnType<typeof startCopiesHere> }> {
  const real = await startTestSimulator({ name: 'vpn-1' });
  const folder = createTemporaryFolder();
  await writeSnapshot(take(real), folder);
  real.requests.length = 0;
  return { real, folder, copies: startCopiesHere() };
}
