import { readdirSync, readlinkSync } from 'node:fs';

let before: readonly string[] = [];

/** What is open by now is no business of the tests that follow. */
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
