import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startSimulator } from '../index';
import type { Simulator } from '../simulator';
import type { CopyStartOptions } from './copy-messages';

/** What gateway-conformance writes. */
const PROFILE_FILE = 'profile.json';

/** Starts a copy of a snapshot folder. It answers like the appliance of the profile in the folder, if there is one. */
export function startCopy(options: CopyStartOptions): Promise<Simulator> {
  const profile = join(options.from, PROFILE_FILE);
  return startSimulator({ ...options, ...(existsSync(profile) && { profile }) });
}
