import { createHash } from 'node:crypto';

/** Identity of the appliance. Tests can change its release or serial number. */
export interface SystemState {
  release: string;
  build: string;
  hostName: string;
  serialNumber: string;
}

export function createSystemState(name: string, release = '25.1R3.1'): SystemState {
  const serial = createHash('sha256').update(`serial ${name}`).digest('hex').slice(0, 12).toUpperCase();
  return { release, build: '12345', hostName: name, serialNumber: `SIM${serial}` };
}
