import { buildSync } from 'esbuild';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execPath } from 'node:process';
import { onTestFinished } from 'vitest';
import { createTemporaryFolder } from './temporary';

/** A password with quotes, an ampersand, a percent sign, and other scripts. */
export const AWKWARD_PASSWORD = `q"uo'te & 50% <ü> пароль\\`;

export { createTemporaryFolder };

/** Names in a folder, sorted. */
export function listNames(path: string): string[] {
  return readdirSync(path).sort();
}

/** A small file system of that size in bytes; undefined where this process may not mount one. */
export function mountSmallDisk(bytes: number): { path: string; readOnly(): void } | undefined {
  const path = createTemporaryFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync('umount', [path]));
  return { path, readOnly: () => void execFileSync('mount', ['-o', 'remount,ro', path]) };
}

/** Runs a script of this folder in a process of its own, with one argument, and no more than so many descriptors. */
export function startChild(script: string, argument: unknown, descriptors = 1024, nodeArgs: readonly string[] = []): ChildProcess {
  const built = join(mkdtempSync(join(__dirname, '../../node_modules/.child-')), 'child.cjs');
  onTestFinished(() => rmSync(dirname(built), { recursive: true, force: true }));
  buildSync({
    entryPoints: [join(__dirname, script)],
    outfile: built,
    bundle: true,
    platform: 'node',
    packages: 'external',
    logLevel: 'error',
  });
  const start = `ulimit -n ${descriptors}; exec "$0" "$@"`;
  const process = spawn('sh', ['-c', start, execPath, ...nodeArgs, built, JSON.stringify(argument)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void process.kill('SIGKILL'));
  return process;
}

/** What a process has written when it ends. */
export async function readOutput({ stdout }: ChildProcess): Promise<string> {
  let text = '';
  for await (const part of stdout ?? []) text += String(part);
  return text;
}
