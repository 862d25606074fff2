import { readdirSync, readlinkSync } from 'node:fs';

let before: readonly string[] = [];

/** Files that are open now belong to earlier tests. */
export function markOpenFiles(): void {
  before = [];
  before = listOpenFiles();
}

/** The files that this test file has opened and not closed, sockets not counted. */
export function listOpenFiles(): string[] {
  const open = readdirSync('/proc/self/fd')
    .map((fd) => linkOf(`/proc/self/fd/${fd}`))
    .filter((target) => target.startsWith('/') && !target.startsWith('/dev/') && !target.startsWith('/proc/'));
  return open.filter((file) => !before.includes(file));
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
